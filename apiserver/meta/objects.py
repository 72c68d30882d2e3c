"""Reading objects: plain JSON dictionaries whose metadata may be missing or malformed where they have not been validated yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.meta.gvk import GroupVersion, GroupVersionKind

Object = dict[str, Any]


def gvk_of(obj: Mapping[str, Any]) -> GroupVersionKind:
    """From apiVersion and kind; empty parts where they are missing. Raises ValueError for an apiVersion with two slashes."""
    gv = GroupVersion.parse(obj.get("apiVersion") or "")
    return GroupVersionKind(gv.group, gv.version, obj.get("kind") or "")


def metadata(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object's metadata, or an empty dictionary that is not part of the object."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def ensure_metadata(obj: Object) -> dict[str, Any]:
    """The object's metadata, made where it is missing."""
    found = obj.get("metadata")
    if not isinstance(found, dict):
        found = obj["metadata"] = {}
    return found


def name_of(obj: Mapping[str, Any]) -> str:
    return metadata(obj).get("name") or ""


def namespace_of(obj: Mapping[str, Any]) -> str:
    return metadata(obj).get("namespace") or ""


def uid_of(obj: Mapping[str, Any]) -> str:
    return metadata(obj).get("uid") or ""


def resource_version_of(obj: Mapping[str, Any]) -> str:
    return metadata(obj).get("resourceVersion") or ""


def generation_of(obj: Mapping[str, Any]) -> int:
    return metadata(obj).get("generation") or 0


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return metadata(obj).get("labels") or {}


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return metadata(obj).get("annotations") or {}


def finalizers_of(obj: Mapping[str, Any]) -> list[str]:
    return metadata(obj).get("finalizers") or []


def owner_references_of(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    return metadata(obj).get("ownerReferences") or []


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Whether deletion has begun and something (a finalizer, a grace period) holds the object back."""
    return bool(metadata(obj).get("deletionTimestamp"))


def dig(value: Any, *path: str) -> Any:
    """The member at a path of member names; None where any step is missing or no dictionary."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def controller_of(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """The owner reference with ``controller: true``, of which there is at most one."""
    return next((ref for ref in owner_references_of(obj) if ref.get("controller")), None)


def copy_json(value: Any) -> Any:
    """A deep copy of a JSON value, several times faster than copy.deepcopy."""
    if type(value) is dict:
        return {k: copy_json(v) if type(v) in (dict, list) else v for k, v in value.items()}
    if type(value) is list:
        return [copy_json(v) if type(v) in (dict, list) else v for v in value]
    return value
