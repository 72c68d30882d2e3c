"""Uniqueness of the items of sets and associative lists (k8s.io/apiextensions-apiserver
``schema/listtype``)."""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, invalid
from apiserver.schema.types import Schema
from apiserver.schema.validate_errors import ROOT
from apiserver.schema.values import text_key


def validate_lists(schema: Schema, value: Any, path: FieldPath = ROOT) -> FieldErrors:
    """Duplicates in lists whose x-kubernetes-list-type is "set" or "map", anywhere below."""
    if not schema.below.lists:
        return []
    errors: FieldErrors = []
    if type(value) is dict:
        properties, additional = schema.properties or {}, schema.additional
        for name, member in value.items():
            if name in properties:
                errors += validate_lists(properties[name], member, path.child(name))
            elif additional is not None:
                errors += validate_lists(additional, member, path.key(name))
    elif type(value) is list:
        if schema.list_type == "set":
            errors += [duplicate(path.at(i), value[i]) for i in _repeated(value)]
        elif schema.list_type == "map":
            errors += _keyed(schema, value, path)
        if schema.items is not None:
            for i, item in enumerate(value):
                errors += validate_lists(schema.items, item, path.at(i))
    return errors


def _keyed(schema: Schema, items: list[Any], path: FieldPath) -> FieldErrors:
    for i, item in enumerate(items):
        if item is not None and type(item) is not dict:
            return [invalid(path.at(i), item, "must be an object for an array of list-type map")]
    keys = [
        {k: item[k] for k in schema.map_keys if k in item} if item is not None else {}
        for item in items
    ]
    return [duplicate(path.at(i), keys[i]) for i in _repeated(keys)]


def _repeated(items: list[Any]) -> list[int]:
    """Where a value stands for the second time."""
    seen: dict[Any, int] = {}
    repeated = []
    for i, item in enumerate(items):
        key = text_key(item)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            repeated.append(i)
    return repeated
