"""Equality of JSON values: one function for each of the ways in which Kubernetes compares them.

Python takes True for 1 and 1 for 1.0; Go never takes a boolean for a number, and 1 for 1.0 only
where it says so. ``==`` first, which is fast, and then a closer look: what Python takes for
different is different in each of these ways.
"""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.meta.raw import RawObject


def equal(a: Any, b: Any) -> bool:
    """Numbers by value, booleans only with booleans (structured-merge-diff ``value.Equals``,
    kube-openapi's enum and unique items)."""
    if a is b:
        return True
    if a != b:
        return False
    cls = a.__class__
    if cls is b.__class__ and cls is not dict and cls is not list:
        return True
    if cls is bool or b.__class__ is bool:
        return False
    if cls is not dict and cls is not list:
        return True
    try:
        if orjson.dumps(a) == orjson.dumps(b):
            return True
    except TypeError:  # an integer beyond 64 bits
        pass
    if cls is dict:
        return all(equal(item, b[key]) for key, item in a.items())
    return all(map(equal, a, b))


def deep_equal(a: Any, b: Any) -> bool:
    """1 is neither 1.0 nor true (Go's ``reflect.DeepEqual``)."""
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return len(a) == len(b) and all(k in b and deep_equal(v, b[k]) for k, v in a.items())
    if type(a) is list:
        return len(a) == len(b) and all(map(deep_equal, a, b))
    return bool(a == b)


def scalars_equal(a: Any, b: Any) -> bool:
    """Go's ``==`` of two scalars in interfaces, as `deep_equal`; containers are never equal."""
    return not isinstance(a, dict | list) and deep_equal(a, b)


def semantic_equal(a: Any, b: Any) -> bool:
    """null, empty and absent lists and maps are equal (apimachinery's ``Semantic.DeepEqual``). For
    objects that have been decoded: inside of containers, their schema has told booleans from
    numbers."""
    if isinstance(a, RawObject) or isinstance(b, RawObject):
        return bool(a == b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a == b or all(semantic_equal(a.get(k), b.get(k)) for k in a.keys() | b.keys())
    if isinstance(a, list) and isinstance(b, list):
        return a == b or (
            len(a) == len(b) and all(semantic_equal(x, y) for x, y in zip(a, b, strict=True))
        )
    if not (_is_scalar(a) and _is_scalar(b)):
        return without_empty(a) is None and without_empty(b) is None
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def without_empty(value: Any) -> Any:
    """What values that are `semantic_equal` have in common: nothing in them is empty; None for what
    is empty itself."""
    if isinstance(value, dict):
        members = {name: without_empty(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not None} or None
    if isinstance(value, list):
        return [without_empty(member) for member in value] or None
    return value
