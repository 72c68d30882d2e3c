"""The JSON text of a patched object as errors quote it.

kube-apiserver patches text: what no patch touches stays as it was written (structs in the order of
their Go types, maps sorted), objects that the patch went through have sorted members, and what the
patch brought is as it was sent or sorted, too. Source: evanphx/json-patch v4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from apiserver.golang.json import escape_html
from apiserver.patch.jsonpatch import GoPointer, Operation, apply_json_patch
from apiserver.schema.order import below, in_order
from apiserver.schema.types import Schema


def merged_text(doc: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema | None) -> str:
    """Of what a merge patch made of ``doc``. ``schema``: of the object."""
    return _text(_merged(doc, patch, schema))


def patched_text(doc: Mapping[str, Any], operations: list[Operation], schema: Schema | None) -> str:
    """Of what a JSON patch, which applies, made of ``doc``."""
    patched = apply_json_patch(in_order(schema, doc), operations)
    pointers = [op[name] for op in operations for name in ("path", "from") if name in op]
    for pointer in ["", *pointers]:
        _sort_along(patched, GoPointer(pointer).parts[:-1])
    return _text(patched)


def _text(value: Any) -> str:
    try:
        text = orjson.dumps(value)
    except TypeError:  # nested deeper than orjson goes
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return escape_html(text).decode()


def _merged(doc: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema | None) -> Any:
    out: dict[str, Any] = {}
    for name in sorted({*doc, *patch}):
        old = doc.get(name)
        if name not in patch:
            out[name] = in_order(below(schema, name), old)
        elif isinstance(old, dict) and isinstance(patch[name], dict):
            out[name] = _merged(old, patch[name], below(schema, name))
        elif patch[name] is not None:
            out[name] = patch[name] if isinstance(old, dict) else _pruned(patch[name])
    return out


def _pruned(value: Any) -> Any:
    """Sorted, and without members that are null."""
    if isinstance(value, dict):
        members = sorted(value.items())
        return {name: _pruned(member) for name, member in members if member is not None}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def _sort_along(value: Any, steps: list[str]) -> None:
    for step in [*steps, ""]:
        if isinstance(value, dict):
            members = sorted(value.items())
            value.clear()
            value.update(members)
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return
