"""A configuration laid over an object without any ownership: what mutating policies do with an ApplyConfiguration.

Atomic values are refused, because whoever sets a part of one would remove the rest of it unawares.
Source: k8s.io/apiserver ``admission/plugin/policy/mutating/patch/smd.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.fieldmanager.combine import combine
from apiserver.fieldmanager.typed import validate
from apiserver.fieldmanager.types import Type, object_type
from apiserver.fieldmanager.updater import Object, failing
from apiserver.fieldmanager.values import Value, copy
from apiserver.schema.types import Schema


def overlay(schema: Schema, original: Object, configuration: Object) -> Object:
    """A new object. ``schema``: of the whole object; both are in its version. Raises ValueError with the text that the policy reports
    after "error applying patch: "."""
    t = object_type(schema)
    with failing("failed to convert patch object to typed object"):
        validate(t, configuration)
    atomics = list(_atomics(t, configuration, ""))
    if atomics:
        raise ValueError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {', '.join(atomics)}")
    with failing("failed to convert original object to typed object"):
        validate(t, original, allow_duplicates=True)
    with failing("failed to merge patch"):
        merged: Object = copy(combine(t, original, configuration))
    return merged


def _atomics(t: Type, value: Value, path: str) -> Iterator[str]:
    """Paths of atomic values; members that are not declared are not looked into."""
    if isinstance(value, dict) and t.map is not None:
        if t.map.atomic:
            yield path
        for name, item in value.items():
            below = t.map.field(name)
            if below is not None:
                yield from _atomics(below, item, f"{path}.{name}")
    elif isinstance(value, list) and t.list is not None:
        if t.list.atomic:
            yield path
        for i, item in enumerate(value):
            yield from _atomics(t.list.element, item, f"{path}[{i}]")
