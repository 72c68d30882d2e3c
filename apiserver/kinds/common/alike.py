"""Equality of two values of a built-in type as apimachinery's ``Semantic.DeepEqual`` sees it:
quantities by their amount, empty lists and maps as absent ones, members of structs by Go's zero
values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.meta.equality import semantic_equal
from apiserver.meta.quantity import parse_quantity
from apiserver.schema.builtin import definition
from apiserver.schema.types import Schema


def alike(name: str, a: Any, b: Any) -> bool:
    """``name``: of the type, as ``core.v1.PodSpec``."""
    return bool(a == b) or _alike(definition(f"io.k8s.api.{name}"), a, b)


def _alike(schema: Schema, a: Any, b: Any) -> bool:
    if schema.special == "quantity":
        return parse_quantity(str(a or "0")) == parse_quantity(str(b or "0"))
    if schema.special:
        return semantic_equal(a, b)
    if schema.properties is not None:
        return _structs(schema.properties, a or {}, b or {})
    if schema.items is not None:
        a, b, items = a or [], b or [], schema.items
        return len(a) == len(b) and all(_member(items, x, y) for x, y in zip(a, b, strict=True))
    if schema.additional is not None:
        a, b, values = a or {}, b or {}, schema.additional
        return a.keys() == b.keys() and all(_member(values, a[k], b[k]) for k in a)
    return semantic_equal(a or None, b or None)


def _structs(members: Mapping[str, Schema], a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(
        _member(members[name], a.get(name), b.get(name)) if name in members else a == b
        for name in a.keys() | b.keys()
    )


def _member(schema: Schema, a: Any, b: Any) -> bool:
    if a == b:
        return True
    # A pointer to a zero value is not a null one.
    if schema.go_pointer:
        if a is None or b is None:
            return False
        if not isinstance(a, dict | list) and schema.special != "quantity":
            return bool(a == b)
    return _alike(schema, a, b)
