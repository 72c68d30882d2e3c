"""All built-in resources, as `Resource` values.

What is served comes from ``data/resources.json`` and ``data/columns.json`` (facts of Kubernetes
1.36), shapes from `apiserver.schema.builtin`, behaviour from the Kind subclasses that
`apiserver.kinds.imports` lists. A column's description is either text (written with a leading "=")
or the path of the field whose OpenAPI description it shares, in the storage version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import apiserver.kinds.imports  # noqa: F401  the kinds register themselves
from apiserver.kinds.base import Column
from apiserver.kinds.builtin import BuiltinResource, OwnResource
from apiserver.kinds.registration import hooks_for
from apiserver.kinds.runtimeconfig import serves
from apiserver.kinds.served import Resource, ServedVersion, Subresource
from apiserver.meta import features
from apiserver.meta.gvk import (
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
)
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode import zero
from apiserver.schema.types import Schema

_OWN = ".polyplane.dev"


@cache
def resources() -> Mapping[GroupResource, Resource]:
    """(group, resource) → Resource, in the order in which discovery lists them. Made once per
    process; never change a value."""
    columns: dict[str, list[list[Any]]] = _data("columns.json")
    entries = (_resource(entry, columns) for entry in _data("resources.json"))
    return {
        r.group_resource: r for r in entries if any(served.served for served in r.versions.values())
    }


@cache
def whole_versions() -> frozenset[GroupVersion]:
    """The groups and versions of Kubernetes that are served: kube-apiserver looks no further for
    what is not in them, so that no definition can add to them. Our own groups are shared."""
    return frozenset(
        GroupVersion(r.group, version)
        for r in resources().values()
        if not r.group.endswith(_OWN)
        for version, served in r.versions.items()
        if served.served
    )


def all_versions() -> frozenset[GroupVersionResource]:
    """All that can be served, whatever is switched off."""
    entries = _data("resources.json")
    return frozenset(
        GroupVersionResource(e["group"], version, e["resource"])
        for e in entries
        for version in e["versions"]
    )


def _data(name: str) -> Any:
    return json.loads((files("apiserver.kinds") / "data" / name).read_bytes())


def _resource(entry: Mapping[str, Any], columns: Mapping[str, list[list[Any]]]) -> Resource:
    group, kind = entry["group"], entry["kind"]
    storage = GroupResource(entry.get("storage", group), entry["resource"])
    storage_version = next(iter(entry["versions"]))
    printed = _columns(
        columns.get(str(GroupResource(group, entry["resource"])), []),
        GroupVersionKind(storage.group, storage_version, kind),
    )
    kind_of_resource = OwnResource if group.endswith(_OWN) else BuiltinResource
    return kind_of_resource(
        group=group,
        resource=entry["resource"],
        kind=kind,
        list_kind=f"{kind}List",
        singular=entry["singular"],
        namespaced=entry["namespaced"],
        versions={
            name: _version(entry, name, version, printed)
            for name, version in entry["versions"].items()
        },
        storage_version=storage_version,
        hooks=hooks_for(group, kind),
        short_names=tuple(entry.get("shortNames", ())),
        categories=tuple(entry.get("categories", ())),
        storage=storage,
    )


def _version(
    entry: Mapping[str, Any], name: str, version: Mapping[str, Any], columns: tuple[Column, ...]
) -> ServedVersion:
    group, kind = entry["group"], entry["kind"]
    subresources = {
        sub: Subresource(sub, GroupVersionKind(*facts["kind"].split("/")), tuple(facts["verbs"]))
        for sub, facts in version.get("subresources", {}).items()
    }
    schema = schema_for(GroupVersionKind(group, name, kind))
    members = schema.properties or {}
    if "status" in members:
        hooks_for(group, kind).zero_status[name] = zero(members["status"])
    return ServedVersion(
        version=name,
        schema=schema,
        verbs=tuple(version["verbs"]),
        subresources=subresources,
        columns=columns,
        deprecated=version.get("deprecated", ""),
        served=("gate" not in entry or features.enabled(entry["gate"]))
        and serves(
            GroupVersionResource(group, name, entry["resource"]), not version.get("off", False)
        ),
    )


def _columns(rows: list[list[Any]], storage: GroupVersionKind) -> tuple[Column, ...]:
    """``rows``: [name, type, format, priority, description or path]. No rows: the kind cannot be
    shown as a Table."""
    if not rows:
        return ()
    schema = schema_for(storage)
    return tuple(
        Column(name, kind, form, _description(source, schema), priority)
        for name, kind, form, priority, source in rows
    )


def _description(source: str, schema: Schema) -> str:
    if source.startswith("="):
        return source[1:]
    for name in source.split("."):
        schema = (schema.properties or {})[name]
    return schema.description
