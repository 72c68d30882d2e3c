"""A stored object as the page shows it: YAML without managedFields and without secrets, managers
with their fields, finalizers."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import yaml

from apiserver.request import TENANCY_GROUP


class Manager(NamedTuple):
    """One entry of managedFields; fields: one dotted path each."""

    name: str
    operation: str
    api_version: str
    subresource: str
    time: str
    fields: list[str]


class Finalizer(NamedTuple):
    """set_by: managers that own it, "" when none does."""

    name: str
    set_by: str


def as_yaml(obj: dict[str, Any]) -> str:
    """The object in kubectl's order of top-level keys. A Secret's values appear as their length,
    the objects of a TenantTemplate, among which Secrets may be, as their number."""
    ordered: dict[str, Any] = {k: obj[k] for k in ("apiVersion", "kind", "metadata") if k in obj}
    ordered["metadata"] = {k: v for k, v in obj.get("metadata", {}).items() if k != "managedFields"}
    ordered |= {k: v for k, v in sorted(obj.items()) if k not in ordered}
    if obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1":
        ordered = _without_secrets(ordered)
    elif obj.get("kind") == "TenantTemplate" and _group(obj) == TENANCY_GROUP:
        ordered = _without_objects(ordered)
    return yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _without_secrets(secret: dict[str, Any]) -> dict[str, Any]:
    copy = dict(secret)
    if isinstance(secret.get("data"), dict):
        copy["data"] = {
            key: f"({_length(value)} bytes, not shown)" for key, value in secret["data"].items()
        }
    return _without_applied(copy)


def _without_objects(template: dict[str, Any]) -> dict[str, Any]:
    objects = (template.get("spec") or {}).get("objects") or ()
    return _without_applied({**template, "spec": {"objects": f"({len(objects)}, not shown)"}})


def _without_applied(obj: dict[str, Any]) -> dict[str, Any]:
    """kubectl apply keeps the whole object in an annotation."""
    annotations = obj["metadata"].get("annotations", {})
    if not annotations:
        return obj
    hidden = {
        k: "(not shown)" if k == "kubectl.kubernetes.io/last-applied-configuration" else v
        for k, v in annotations.items()
    }
    return {**obj, "metadata": {**obj["metadata"], "annotations": hidden}}


def _group(obj: dict[str, Any]) -> str:
    return str(obj.get("apiVersion", "")).partition("/")[0]


def _length(value: Any) -> int:
    try:
        return len(base64.b64decode(str(value)))
    except (binascii.Error, ValueError):
        return len(str(value))


class _Dumper(yaml.SafeDumper):
    """Several lines as a block."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    )


_Dumper.add_representer(str, _text)


def managers(obj: dict[str, Any]) -> list[Manager]:
    return [
        Manager(
            entry.get("manager", ""),
            entry.get("operation", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
            entry.get("time", ""),
            sorted(field_paths(entry.get("fieldsV1", {}))),
        )
        for entry in obj.get("metadata", {}).get("managedFields", [])
    ]


def field_paths(fields: dict[str, Any], prefix: str = "") -> list[str]:
    """FieldsV1 as paths: ``.spec.ports[{"port":80}].name``. ``.`` stands for the value itself and
    is shown by the path above it."""
    paths: list[str] = []
    for key, below in fields.items():
        if key == ".":
            paths.append(prefix)
            continue
        kind, _, name = key.partition(":")
        path = f"{prefix}.{name}" if kind == "f" else f"{prefix}[{name}]"
        paths += field_paths(below, path) if below else [path]
    return paths


def finalizers(obj: dict[str, Any]) -> list[Finalizer]:
    """In their order, with the managers whose fields hold them."""
    owned = {m.name: set(m.fields) for m in managers(obj)}
    metadata = obj.get("metadata", {})
    return [
        Finalizer(
            name,
            ", ".join(
                m for m, fields in owned.items() if f'.metadata.finalizers["{name}"]' in fields
            ),
        )
        for name in metadata.get("finalizers", [])
    ]
