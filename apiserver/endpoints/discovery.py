"""Discovery documents as data: API groups, resource lists, and the aggregated form (apidiscovery.k8s.io/v2).

Sources: "Discovery API" in the Kubernetes API concepts, k8s.io/apiserver ``endpoints/discovery``, k8s.io/apiextensions-apiserver
``apiserver/customresource_discovery_controller.go``, k8s.io/kube-aggregator ``apiregistration/v1/helper``. Pure functions of the tenant's
resources.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.base import Resource, ServedVersion
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.versions import version_priority

Document = dict[str, Any]


_SHRINKING = ("delete", "deletecollection", "get", "list", "watch")
"""Verbs of a custom resource whose definition is being deleted."""


def groups(resources: Sequence[Resource]) -> dict[str, list[str]]:
    """Group → versions in order of preference, without the core group: first the built-in groups in order of appearance, then those of
    definitions by name."""
    found: dict[str, list[str]] = {}
    built_in: set[str] = set()
    for resource in resources:
        if resource.group:
            versions = found.setdefault(resource.group, [])
            versions += [v for v, served in resource.versions.items() if served.served and v not in versions]
            if not resource.custom:
                built_in.add(resource.group)
    ordered = [g for g in found if g in built_in] + sorted(found.keys() - built_in)
    return {group: sorted(found[group], key=version_priority) for group in ordered if found[group]}


def api_versions(server_address: str) -> Document:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def api_group(group: str, versions: Sequence[str], *, alone: bool = True) -> Document:
    """``alone``: a document of its own, with kind and apiVersion."""
    listed = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
    head = {"kind": "APIGroup", "apiVersion": "v1"} if alone else {}
    return {**head, "name": group, "versions": listed, "preferredVersion": listed[0]}


def api_group_list(resources: Sequence[Resource]) -> Document:
    """Groups of definitions are in the order of their APIServices, whose names begin with a version."""
    built_in = {r.group for r in resources if not r.custom}
    found = groups(resources)
    custom = sorted((g for g in found if g not in built_in), key=lambda g: min(f"{v}.{g}" for v in found[g]))
    ordered = [*(g for g in found if g in built_in), *custom]
    listed = [api_group(g, found[g], alone=False) for g in ordered]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def api_resource_list(resources: Iterable[Resource], group: str, version: str) -> Document | None:
    """None when the group has no such version."""
    rows: list[Document] = []
    found = custom = False
    for resource in resources:
        served = resource.versions.get(version)
        if resource.group == group and served is not None and served.served:
            found = True
            rows += _rows(resource, served)
            custom = custom or resource.custom
    if not found:
        return None
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}" if group else version}
    return {**head, "resources": rows if custom else sorted(rows, key=lambda row: row["name"])}


def _rows(resource: Resource, served: ServedVersion) -> list[Document]:
    row: Document = {
        "name": resource.resource,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource, served),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if hashed := storage_version_hash(resource, served):
        row["storageVersionHash"] = hashed
    rows = [row]
    for name, sub in served.subresources.items():
        entry: Document = {
            "name": f"{resource.resource}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": sub.kind.kind,
            "verbs": list(sub.verbs),
        }
        if (sub.kind.group, sub.kind.version) not in (("", ""), (resource.group, served.version)):
            entry = {"group": sub.kind.group, "version": sub.kind.version, **entry}
        rows.append(entry)
    return rows


def _verbs(resource: Resource, served: ServedVersion) -> list[str]:
    ending = isinstance(resource, CustomResource) and resource.terminating
    return list(_SHRINKING if ending else served.verbs)


def storage_version_hash(resource: Resource, served: ServedVersion) -> str:
    """Of the kind that objects are stored as; "" where nothing is stored, or a definition stores a version that it does not serve."""
    stored = resource.versions.get(resource.storage_version)
    if "watch" not in served.verbs or (resource.custom and (stored is None or not stored.served)):
        return ""
    text = f"{resource.storage.group}/{resource.storage_version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def aggregated(resources: Sequence[Resource], *, core: bool) -> Document:
    """APIGroupDiscoveryList of the core group (``/api``) or of all others (``/apis``)."""
    wanted = {"": ["v1"]} if core else groups(resources)
    items = [_aggregated_group(resources, group, versions) for group, versions in wanted.items()]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_group(resources: Sequence[Resource], group: str, versions: Sequence[str]) -> Document:
    out: list[Document] = []
    for version in versions:
        listed: list[Document] = [
            _aggregated_resource(r, r.versions[version])
            for r in resources
            if r.group == group and version in r.versions and r.versions[version].served
        ]
        out.append({"version": version, "resources": sorted(listed, key=_name_of), "freshness": "Current"})
    return {"metadata": {"name": group} if group else {}, "versions": out}


def _name_of(row: Document) -> str:
    return str(row["resource"])


def _aggregated_resource(resource: Resource, served: ServedVersion) -> Document:
    def kind(group: str, version: str, name: str) -> Document:
        return {"group": group, "version": version, "kind": name}

    def shown(of: GroupVersionKind) -> Document:
        """Built-in kinds of the resource's own group and version are named alone."""
        alone = not resource.custom and (of.group, of.version) == (resource.group, served.version)
        return kind("", "", of.kind) if alone else kind(*of)

    entry: Document = {
        "resource": resource.resource,
        "responseKind": shown(resource.gvk(served.version)),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource, served),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if served.subresources:
        entry["subresources"] = [
            {"subresource": name, "responseKind": shown(sub.kind), "verbs": list(sub.verbs)}
            for name, sub in sorted(served.subresources.items())
        ]
    return entry


def etag(document: Document) -> str:
    """A quoted hash of the document's content."""
    return '"' + hashlib.sha512(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest().upper() + '"'
