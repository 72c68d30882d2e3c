"""What errors of field management say of objects and conflicts."""

from __future__ import annotations

from typing import Any

from apiserver.errors import ApplyConflict
from apiserver.fieldmanager.fieldpath import path_text
from apiserver.fieldmanager.managed import Manager
from apiserver.fieldmanager.updater import Conflict
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.objects import Object


def conflict_error(conflicts: list[Conflict[Manager]]) -> ApplyConflict:
    """The 409: conflicts by manager, in the order of their identifiers."""
    conflicts = sorted(conflicts, key=lambda c: c.manager.identifier)
    causes = [(f"conflict with {c.manager}", path_text(c.path)) for c in conflicts]
    if len(conflicts) == 1:
        return ApplyConflict(
            f"Apply failed with 1 conflict: {causes[0][0]}: {causes[0][1]}", causes
        )
    lines: dict[str, list[str]] = {}
    for text, path in causes:
        lines.setdefault(text.replace("conflict", "conflicts", 1), []).append(f"- {path}")
    parts = [line for head, paths in lines.items() for line in (f"{head}:", *paths)]
    return ApplyConflict(
        f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(parts), causes
    )


def identity(obj: Object) -> str:
    """namespace/name; group/version, Kind=kind"""
    metadata: Any = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}; {kind_of(obj)}"


def kind_of(obj: Object) -> str:
    return group_version_kind(obj.get("apiVersion"), obj.get("kind"))


def group_version_kind(api_version: Any, kind: Any) -> str:
    try:
        group, version = GroupVersion.parse(_text(api_version))
    except ValueError:
        return "/, Kind="
    return f"{group}/{version}, Kind={_text(kind)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
