"""The FieldManager of each resource, made at its first write."""

from __future__ import annotations

from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.updater import MissingVersion
from apiserver.kinds.base import Object, Resource
from apiserver.meta.gvk import GroupVersion
from apiserver.registry.typing import type_object
from apiserver.schema.types import Schema


def make_manager(resource: Resource) -> FieldManager:
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
        if not version:
            raise MissingVersion(api_version)
        return resource.hooks.convert(obj, version)

    def finish(obj: Object) -> Object:
        version = GroupVersion.parse(obj["apiVersion"]).version
        return type_object(resource, resource.versions[version], obj)[0]

    return FieldManager(resource.kind, schemas, convert, filters=None, finish=finish)
