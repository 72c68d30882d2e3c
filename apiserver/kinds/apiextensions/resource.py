"""From a CustomResourceDefinition to the Resource that serves its objects."""

from __future__ import annotations

from apiserver.kinds.apiextensions.columns import columns_of
from apiserver.kinds.apiextensions.custom import CustomKind, CustomResource, CustomVersion, Version
from apiserver.kinds.apiextensions.jsonpath import Path, PathError, parse_path
from apiserver.kinds.apiextensions.scale import Scale
from apiserver.kinds.apiextensions.schemas import Source, source
from apiserver.kinds.served import ConversionWebhook, ServedVersion, Subresource
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.meta.versions import version_priority

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")
_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


def custom_resource(crd: Object) -> CustomResource:
    """``crd``: with accepted names. Its names decide what the resource is called, its spec
    everything else."""
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    group, kind, plural = spec["group"], names.get("kind", ""), names.get("plural", "")
    hooks = CustomKind(group, kind, plural, {v["name"]: _version(v) for v in spec["versions"]})
    newest = _newest(spec["versions"])
    versions = {
        v["name"]: _served(v, hooks.versions[v["name"]].source, group, kind, newest)
        for v in spec["versions"]
    }
    hooks.terminating = bool(crd["metadata"].get("deletionTimestamp"))
    return CustomResource(
        group=group,
        resource=plural,
        kind=kind,
        list_kind=names.get("listKind", ""),
        singular=names.get("singular", ""),
        namespaced=spec.get("scope") == "Namespaced",
        versions={name: versions[name] for name in sorted(versions, key=version_priority)},
        storage_version=next(v["name"] for v in spec["versions"] if v.get("storage")),
        hooks=hooks,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        storage=GroupResource(group, plural),
        terminating=hooks.terminating,
        definition=crd["metadata"].get("uid", ""),
        webhook=ConversionWebhook.of(spec),
    )


def _version(version: Object) -> Version:
    subresources = version.get("subresources") or {}
    return Version(
        source=source((version.get("schema") or {}).get("openAPIV3Schema")),
        status=subresources.get("status") is not None,
        scale=Scale.of(subresources),
        cells=columns_of(version.get("additionalPrinterColumns") or ())[1],
        selectable=_selectable(version),
    )


def _selectable(version: Object) -> dict[str, Path]:
    fields = {}
    for field in version.get("selectableFields") or ():
        text = field.get("jsonPath", "")
        try:
            fields[text.removeprefix(".")] = parse_path(text)
        except PathError:
            continue
    return fields


def _newest(versions: list[Object]) -> str:
    """The version that clients of deprecated ones should use; "" where all are deprecated."""
    names = (v["name"] for v in versions if v.get("served") and not v.get("deprecated"))
    return min(names, key=version_priority, default="")


def _served(version: Object, schema: Source, group: str, kind: str, newest: str) -> ServedVersion:
    """``newest``: as `_newest` finds it."""
    name, subresources = version["name"], version.get("subresources") or {}
    served: dict[str, Subresource] = {}
    if subresources.get("status") is not None:
        served["status"] = Subresource(
            "status", GroupVersionKind(group, name, kind), _SUBRESOURCE_VERBS
        )
    if subresources.get("scale") is not None:
        served["scale"] = Subresource("scale", _SCALE, _SUBRESOURCE_VERBS)
    custom_version = CustomVersion(name, schema, VERBS, served)
    custom_version.columns = columns_of(version.get("additionalPrinterColumns") or ())[0]
    custom_version.deprecated = _deprecated(version, group, kind, newest)
    custom_version.served = bool(version.get("served"))
    return custom_version


def _deprecated(version: Object, group: str, kind: str, newest: str) -> str:
    """The warning of a deprecated version, with the one to use instead."""
    if not version.get("deprecated"):
        return ""
    own: str | None = version.get("deprecationWarning")
    if own is not None:
        return own
    text = f"{group}/{version['name']} {kind} is deprecated"
    newer = newest and version_priority(newest) < version_priority(version["name"])
    return f"{text}; use {group}/{newest} {kind}" if newer else text
