"""JSON merge patch: RFC 7386 as evanphx/json-patch v4 does it.

It departs from the RFC in one point that clients can see: nulls in objects inside a replacing list
are dropped, unless the list replaces an object.
"""

from __future__ import annotations

from typing import Any

from apiserver.meta.objects import Object, copy_json


def apply_merge_patch(doc: Object, patch: Object) -> Object:
    """The patched object, which shares what the patch does not name with ``doc``; neither argument
    is changed. Both are JSON objects (apiserver.codec.patches checks the body)."""
    merged = dict(doc)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif merged.get(name) is None:
            merged[name] = _without_nulls(value)
        else:
            merged[name] = _merge(merged[name], value)
    return merged


def _merge(old: Any, patch: Any) -> Any:
    if not isinstance(old, dict):
        return _without_nulls(patch)
    if not isinstance(patch, dict):
        return copy_json(patch)
    return apply_merge_patch(old, patch)


def _without_nulls(value: Any) -> Any:
    """Members that are null go, at any depth; items of lists that are null stay."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value
