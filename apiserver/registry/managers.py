"""The FieldManager of each resource, made at its first write."""

from __future__ import annotations

from collections.abc import Callable

from apiserver.fieldmanager import reset
from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.updater import MissingVersion
from apiserver.kinds.base import Object, Resource
from apiserver.meta.gvk import GroupVersion
from apiserver.registry.typing import type_object
from apiserver.schema.types import Schema


def make_manager(resource: Resource, converted: Callable[[Object, str], Object] | None = None) -> FieldManager:
    """``converted``: an object in a version of its kind, where that is not the kind's own business."""

    def served(api_version: str) -> str:
        gv = GroupVersion.parse(api_version)
        return gv.version if gv.group == resource.group and gv.version in resource.versions else ""

    def schemas(api_version: str) -> Schema | None:
        version = served(api_version)
        return resource.versions[version].schema if version else None

    def convert(obj: Object, api_version: str) -> Object:
        if obj.get("apiVersion") == api_version:
            return obj
        version = served(api_version)
        if not version and resource.custom:
            # kube-apiserver does not tell this error from others: managers of removed versions stop applies (kubernetes issue 111937)
            raise ValueError(f"request to convert CR to an invalid group/version: {api_version}")
        if not version:
            raise MissingVersion(api_version)
        return resource.hooks.convert(obj, version) if converted is None else converted(obj, version)

    def finish(obj: Object) -> Object:
        version = GroupVersion.parse(obj["apiVersion"]).version
        return type_object(resource, resource.versions[version], obj)[0]

    return FieldManager(resource.kind, schemas, convert, _filters(resource), finish)


def _filters(resource: Resource) -> reset.Filters:
    versions = {resource.gvk(v).api_version: served for v, served in resource.versions.items()}
    if resource.custom:
        return reset.custom(v for v, served in versions.items() if "status" in served.subresources)
    subresources = {name for served in versions.values() for name in served.subresources}
    return reset.built_in(resource.group_resource, versions, subresources)
