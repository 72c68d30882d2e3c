"""The scale subresource: an autoscaling/v1 Scale in front of the object's replicas, with managers of its own
(k8s.io/apiserver ``rest.UpdatedObjectInfo`` for scale, apimachinery ``util/managedfields/scalehandler.go``)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

from apiserver.errors import Invalid
from apiserver.fielderrors import invalid
from apiserver.fieldmanager.managed import InvalidManagedFields
from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.scale import SCALE_VERSION, ReplicasPaths, replicas_path, to_parent, to_scale
from apiserver.fieldmanager.updater import MissingVersion
from apiserver.kinds.apiextensions.custom import CustomKind
from apiserver.kinds.base import Object, Resource
from apiserver.meta.gvk import GroupKind, GroupVersionKind
from apiserver.meta.objects import copy_json
from apiserver.registry.patching import Patch, check_name_and_namespace, read_applied, report_strict
from apiserver.registry.scope import Scope
from apiserver.schema import builtin
from apiserver.schema.decode import decode
from apiserver.schema.types import Schema

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")

Wanted = Callable[[Object], Object]
"""From the live Scale to the one that the client wants."""


@cache
def scale_manager(*, custom: bool) -> FieldManager:
    """``custom``: of a custom resource, whose Scale can be patched but not applied: kube-apiserver cannot convert what it merged."""

    def schemas(api_version: str) -> Schema | None:
        return builtin.schema_for(SCALE) if api_version == SCALE_VERSION else None

    def convert(obj: Object, api_version: str) -> Object:
        if api_version != SCALE_VERSION:
            raise MissingVersion(api_version)
        return obj

    def refuse(obj: Object) -> Object:
        raise ValueError(f"request to convert CR to an invalid group/version: {SCALE_VERSION}")

    return FieldManager("Scale", schemas, convert, finish=refuse if custom else lambda obj: decode_scale(obj)[0])


def decode_scale(obj: Object) -> tuple[Object, list[str]]:
    """A client's Scale with what Go makes of it, and its unknown fields. Raises DecodeError."""
    decoded = decode(builtin.schema_for(SCALE), obj)
    scale: Object = decoded.value
    scale.update(kind=SCALE.kind, apiVersion=SCALE_VERSION)
    return scale, decoded.strict


def scaled(scope: Scope, old: Object, manager: str, wanted: Wanted) -> Object:
    """The object with the replicas of the Scale that a PUT or a patch made, and with the managers that follow."""
    live = _live(scope, old)
    fields = scale_manager(custom=scope.resource.custom)
    scale = fields.update(live, wanted(live), manager, api_version=SCALE_VERSION, subresource="scale", now=scope.now)
    return _put_back(scope, old, scale)


def applied(scope: Scope, old: Object, manager: str, wanted: Patch) -> Object:
    """The object after a Scale was applied. Reads the configuration only now that there is an object."""
    scale, strict_error = read_applied(wanted)
    fields, live, force = scale_manager(custom=scope.resource.custom), _live(scope, old), bool(wanted.options.force)
    made = fields.apply(live, scale, manager, force=force, api_version=SCALE_VERSION, subresource="scale", now=scope.now)
    report_strict(scope, wanted, strict_error)
    check_name_and_namespace(scope, made)
    return _put_back(scope, old, made)


def _live(scope: Scope, old: Object) -> Object:
    scale = scope.resource.hooks.scale_for_update(old)
    with suppress(InvalidManagedFields):
        scale["metadata"]["managedFields"] = to_scale(old["metadata"].get("managedFields"), _paths(scope.resource))
    return scale


def _put_back(scope: Scope, old: Object, scale: Object) -> Object:
    replicas = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0 and not scope.resource.custom:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid(GroupKind("autoscaling", "Scale"), scope.name, [error])
    new: Object = copy_json(old)
    scope.resource.hooks.set_scale(new, replicas)
    metadata = scale.get("metadata", {})
    new["metadata"]["resourceVersion"] = metadata.get("resourceVersion") or old["metadata"]["resourceVersion"]
    if metadata.get("uid"):
        new["metadata"]["uid"] = metadata["uid"]
    try:
        entries = to_parent(
            old["metadata"].get("managedFields"), metadata.get("managedFields"), scope.gvk.api_version, _paths(scope.resource)
        )
    except InvalidManagedFields:
        return new
    new["metadata"].pop("managedFields", None)
    if entries:
        new["metadata"]["managedFields"] = entries
    return new


def _paths(resource: Resource) -> ReplicasPaths:
    """Where each version of the object keeps its replicas."""
    hooks = resource.hooks
    paths = {}
    for version, served in resource.versions.items():
        text = ".spec.replicas" if "scale" in served.subresources else ""
        if isinstance(hooks, CustomKind):
            scale = hooks.versions[version].scale
            text = scale.spec if scale is not None else ""
        paths[resource.gvk(version).api_version] = replicas_path(text) if text else None
    return paths
