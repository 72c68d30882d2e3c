"""Discovery documents as data: API groups, resource lists, and the aggregated form
(apidiscovery.k8s.io/v2).

Sources: "Discovery API" in the Kubernetes API concepts, k8s.io/apiserver ``endpoints/discovery``,
k8s.io/apiextensions-apiserver ``apiserver/customresource_discovery_controller.go``,
k8s.io/kube-aggregator ``apiregistration/v1/helper``. Pure functions of the tenant's resources.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from apiserver.aggregation.documents import Listed, Served
from apiserver.kinds.served import Resource, ServedVersion
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.meta.versions import version_priority

Document = dict[str, Any]


_SHRINKING = ("delete", "deletecollection", "get", "list", "watch")
"""Verbs of a custom resource whose definition is being deleted."""


_CUSTOM_PRIORITY = 1000
"""Of the groups of definitions among those of other servers (kube-apiserver
``crdregistration``)."""


_TOLD_VERSIONS = {
    ("apiextensions.k8s.io", "customresourcedefinitions"): "v1beta1",
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): "v1beta1",
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): "v1beta1",
}
"""Where kube-apiserver stores another version than this server: whoever migrates objects when a
hash changes has to find the ones that it knows."""


def groups(resources: Sequence[Resource], others: Sequence[Listed] = ()) -> dict[str, list[str]]:
    """Group → versions in order of preference, without the core group: first the built-in groups in
    order of appearance, then those of definitions and of other servers, by priority and name."""
    versions_of: dict[str, dict[str, None]] = {}
    built_in: set[str] = set()
    for resource in resources:
        if resource.group:
            versions = versions_of.setdefault(resource.group, {})
            versions.update((v, None) for v, served in resource.versions.items() if served.served)
            if resource.has_routes:
                built_in.add(resource.group)
    priorities = dict.fromkeys(versions_of, _CUSTOM_PRIORITY)
    for (group, version), priority, _ in others:
        priorities.setdefault(group, priority)
        versions_of.setdefault(group, {})[version] = None
    ordered = [g for g in versions_of if g in built_in] + sorted(
        versions_of.keys() - built_in, key=lambda g: (-priorities[g], g)
    )
    return {
        group: sorted(versions_of[group], key=version_priority)
        for group in ordered
        if versions_of[group]
    }


def api_versions(server_address: str) -> Document:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
        ],
    }


def api_group(group: str, versions: Sequence[str], *, alone: bool = True) -> Document:
    """``alone``: a document of its own, with kind and apiVersion."""
    listed = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
    head = {"kind": "APIGroup", "apiVersion": "v1"} if alone else {}
    return {**head, "name": group, "versions": listed, "preferredVersion": listed[0]}


def api_group_list(resources: Sequence[Resource], others: Sequence[Listed] = ()) -> Document:
    """Groups of definitions are in the order of their APIServices, whose names begin with a
    version."""
    built_in = {r.group for r in resources if r.has_routes}
    group_versions = groups(resources, others)
    local = {r.group for r in resources}
    priorities = {one.group_version.group: -one.priority for one in others}
    custom = sorted(
        (g for g in group_versions if g not in built_in),
        key=lambda g: (
            -_CUSTOM_PRIORITY if g in local else priorities[g],
            min(f"{v}.{g}" for v in group_versions[g]),
        ),
    )
    ordered = [*(g for g in group_versions if g in built_in), *custom]
    listed = [api_group(g, group_versions[g], alone=False) for g in ordered]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def api_resource_list(resources: Iterable[Resource], group: str, version: str) -> Document | None:
    """None when the group has no such version."""
    rows: list[Document] = []
    is_served, sorted_by_name = False, True
    for resource in resources:
        served = resource.versions.get(version)
        if resource.group == group and served is not None and served.served:
            is_served = True
            rows += _rows(resource, served)
            sorted_by_name = sorted_by_name and resource.has_routes
    if not is_served:
        return None
    # Releases before 1.2 gave the oldest group no apiVersion, and so it has stayed.
    head: Document = {"kind": "APIResourceList"}
    if group:
        head["apiVersion"] = "v1"
    head["groupVersion"] = f"{group}/{version}" if group else version
    return {
        **head,
        "resources": sorted(rows, key=lambda row: row["name"]) if sorted_by_name else rows,
    }


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
    if resource.answers:
        return ["create"]
    return list(_SHRINKING if resource.terminating else served.verbs)


def storage_version_hash(resource: Resource, served: ServedVersion) -> str:
    """Of the kind that objects are stored as; "" where nothing is stored, or a definition stores a
    version that it does not serve."""
    if "watch" not in served.verbs or resource.answers or not resource.tells_storage_version:
        return ""
    version = _TOLD_VERSIONS.get(resource.group_resource, resource.storage_version)
    text = f"{resource.storage.group}/{version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def aggregated(
    resources: Sequence[Resource], others: Sequence[Listed] = (), *, core: bool
) -> Document:
    """APIGroupDiscoveryList of the core group (``/api``) or of all other groups (``/apis``);
    ``others``: what other servers serve."""
    group_versions = {"": ["v1"]} if core else groups(resources, others)
    elsewhere = {one.group_version: one.served for one in others}
    of_group: dict[str, list[Resource]] = {}
    for resource in resources:
        of_group.setdefault(resource.group, []).append(resource)
    items = [
        _aggregated_group(of_group.get(group, ()), group, versions, elsewhere)
        for group, versions in group_versions.items()
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_group(
    resources: Sequence[Resource],
    group: str,
    versions: Sequence[str],
    elsewhere: Mapping[GroupVersion, Served],
) -> Document:
    """``resources``: of the group; ``elsewhere``: what other servers serve."""
    listed: dict[str, list[Document]] = {version: [] for version in versions}
    for resource in resources:
        for version, served in resource.versions.items():
            if served.served and version in listed:
                listed[version].append(_aggregated_resource(resource, served))
    out: list[Document] = []
    for version, rows in listed.items():
        other = elsewhere.get(GroupVersion(group, version))
        rows = sorted(rows, key=_name_of) if other is None else list(other.resources)
        freshness = "Current" if other is None or other.current else "Stale"
        members = {"resources": rows} if rows or other is None else {}
        out.append({"version": version, **members, "freshness": freshness})
    return {"metadata": {"name": group} if group else {}, "versions": out}


def _name_of(row: Document) -> str:
    return str(row["resource"])


def _aggregated_resource(resource: Resource, served: ServedVersion) -> Document:
    def kind(group: str, version: str, name: str) -> Document:
        return {"group": group, "version": version, "kind": name}

    def response_kind(of: GroupVersionKind) -> Document:
        """Built-in kinds of the resource's own group and version are named alone."""
        alone = resource.has_routes and (of.group, of.version) == (resource.group, served.version)
        return kind("", "", of.kind) if alone else kind(*of)

    entry: Document = {
        "resource": resource.resource,
        "responseKind": response_kind(resource.gvk(served.version)),
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
            {"subresource": name, "responseKind": response_kind(sub.kind), "verbs": list(sub.verbs)}
            for name, sub in sorted(served.subresources.items())
        ]
    return entry


def etag(document: Document) -> str:
    """A quoted hash of the document's content."""
    return (
        '"'
        + hashlib.sha512(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest().upper()
        + '"'
    )
