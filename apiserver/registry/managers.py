"""The FieldManager of each resource, made at its first write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.objects import Object
from apiserver.meta.raw import plain, way_of
from apiserver.schema.decode import decode
from apiserver.schema.decode_errors import DecodeError, Empty
from apiserver.schema.restore import restored_object
from apiserver.schema.types import Schema


def make_manager(
    resource: Resource, converted: Callable[[Object, str], Object] | None = None
) -> FieldManager:
    """``converted``: an object in a version of its kind, where that is not the kind's own
    business."""

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
            raise resource.no_such_version(api_version)
        if resource.has_go_type:
            return _converted(resource, obj, version)
        return (
            resource.hooks.convert(obj, version) if converted is None else converted(obj, version)
        )

    return FieldManager(
        resource.kind,
        schemas,
        convert,
        resource.reset_fields(),
        partial(_finish, resource),
        _plain(resource.hooks.raw_fields),
        _compared(resource),
    )


def _compared(resource: Resource) -> Callable[[Object], Object]:
    plain_obj = _plain(_told_apart_by_value(resource))
    return lambda obj: resource.hooks.compared(plain_obj(obj))


def _plain(fields: tuple[str, ...]) -> Callable[[Object], Object]:
    way = way_of(fields)
    return lambda obj: plain(obj, way) if way else obj


def _told_apart_by_value(resource: Resource) -> tuple[str, ...]:
    """The raw fields outside of atomic lists. The items of those are compared as Go values, in
    which another spelling is another value (structured-merge-diff ``value/structreflect.go``)."""
    fields = resource.hooks.raw_fields
    if not fields:
        return ()  # and the schema of a definition's version is not compiled for it
    schema = resource.versions[resource.storage_version].schema
    return tuple(field for field in fields if not _in_atomic(schema, field))


def _in_atomic(schema: Schema, field: str) -> bool:
    node: Schema | None = schema
    for step in field.replace("[]", ".[]").split("."):
        if node is None:
            break
        if step == "[]" and node.list_type != "map":
            return True
        node = node.items if step == "[]" else (node.properties or {}).get(step)
    return False


def _converted(resource: Resource, obj: Object, version: str) -> Object:
    """By way of Go values: what has been pruned of the object is there again with its zero value
    where Go never leaves it out, so that it counts as kept."""
    own = resource.versions[GroupVersion.parse(obj["apiVersion"]).version]
    whole: Object = decode(own.schema, obj).value
    whole.update(kind=obj["kind"], apiVersion=obj["apiVersion"])
    return resource.hooks.convert(whole, version)


def _finish(resource: Resource, obj: Object, empties: list[Empty]) -> Object:
    version = resource.versions[GroupVersion.parse(obj["apiVersion"]).version]
    try:
        return resource.decode_merged(version, obj, empties)[0]
    except DecodeError:
        if not resource.has_go_type:
            raise
    restored = restored_object(version.schema, obj, resource.gvk(version.version))
    return resource.decode_merged(version, restored, empties)[0]
