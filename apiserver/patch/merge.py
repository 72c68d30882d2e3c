"""JSON merge patch: RFC 7386 as evanphx/json-patch v4 does it.

It departs from the RFC in one point that clients can see: nulls in objects inside a replacing list are dropped, unless the list
replaces an object.
"""

from __future__ import annotations

from typing import Any

from apiserver.patch.values import copy_value

Object = dict[str, Any]


def apply_merge_patch(doc: Object, patch: Object) -> Object:
    """The patched object; neither argument is changed. Both are JSON objects (apiserver.codec.patches checks the body)."""
    made = dict(doc)
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        elif made.get(name) is None:
            made[name] = _without_nulls(value)
        else:
            made[name] = _merge(made[name], value)
    return {k: copy_value(v) if v is doc.get(k) else v for k, v in made.items()}


def _merge(old: Any, patch: Any) -> Any:
    if not isinstance(old, dict):
        return _without_nulls(patch)
    if not isinstance(patch, dict):
        return copy_value(patch)
    return apply_merge_patch(old, patch)


def _without_nulls(value: Any) -> Any:
    """Members that are null go, at any depth; items of lists that are null stay."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value
