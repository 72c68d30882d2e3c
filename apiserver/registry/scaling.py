"""The scale subresource: an autoscaling/v1 Scale in front of the object's replicas, with managers
of its own (k8s.io/apiserver ``rest.UpdatedObjectInfo`` for scale, apimachinery
``util/managedfields/scalehandler.go``)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

from apiserver.errors import Conflict, Invalid, NotFound
from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.fieldmanager.managed import InvalidManagedFields
from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.scale import (
    SCALE_VERSION,
    ReplicasPaths,
    replicas_path,
    to_parent,
    to_scale,
)
from apiserver.fieldmanager.updater import MissingVersion
from apiserver.kinds.common import namerules
from apiserver.kinds.common.objectmeta import (
    identity_errors,
    shared_errors,
    standard_finalizer_errors,
)
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupKind, GroupResource, GroupVersionKind
from apiserver.meta.objects import Object, copy_json
from apiserver.registry.changes import Change
from apiserver.registry.core import Registry
from apiserver.registry.offload import Asker
from apiserver.registry.patching import Patch, check_name_and_namespace, read_applied, report_strict
from apiserver.registry.scope import Scope
from apiserver.schema import builtin
from apiserver.schema.decode import decode
from apiserver.schema.decode_errors import DecodeError, Empty
from apiserver.schema.restore import restored_object
from apiserver.schema.types import Schema

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")

Rescale = Callable[[Object], Object]
"""From the live Scale to the one that the client wants."""


@cache
def scale_manager(*, applies: bool) -> FieldManager:
    """``applies``: as `Resource.applies_scale`. A converter of custom resources takes Scales of the
    Go type alone: neither the empty object that an apply may begin with nor what it merges."""
    not_converted = f"request to convert CR to an invalid group/version: {SCALE_VERSION}"

    def schemas(api_version: str) -> Schema | None:
        return builtin.schema_for(SCALE) if api_version == SCALE_VERSION else None

    def convert(obj: Object, api_version: str) -> Object:
        if api_version != SCALE_VERSION:
            raise MissingVersion(api_version)
        return obj

    def finish(obj: Object, empties: list[Empty]) -> Object:
        if not applies:
            raise ValueError(not_converted)
        try:
            return decode_scale(obj)[0]
        except DecodeError:
            return decode_scale(restored_object(builtin.schema_for(SCALE), obj, SCALE))[0]

    empty = f"failed to convert live object (/; {SCALE}) to proper version: {not_converted}"
    return FieldManager(
        "Scale", schemas, convert, finish=finish, unmanageable="" if applies else empty
    )


def decode_scale(obj: Object) -> tuple[Object, list[str]]:
    """A client's Scale with what Go makes of it, and its unknown fields. Raises DecodeError."""
    decoded = decode(builtin.schema_for(SCALE), obj)
    scale: Object = decoded.value
    scale.update(kind=SCALE.kind, apiVersion=SCALE_VERSION)
    return scale, decoded.strict


class Scaled(Change):
    """A write of the Scale. ``make``: from the live object to the one with other replicas."""

    sets_managers = True

    def __init__(self, make: Callable[[Object], Object], *, uid_is_precondition: bool) -> None:
        super().__init__()
        self._make, self.uid_is_precondition = make, uid_is_precondition

    async def make(
        self, registry: Registry, scope: Scope, asker: Asker, old: Object | None
    ) -> Object:
        if old is None:
            raise NotFound(scope.resource.group_resource, scope.name)
        new = self._make(old)
        if not self.uid_is_precondition:
            _check_uid(scope, new, old)
        return new


def _check_uid(scope: Scope, new: Object, old: Object) -> None:
    """The uid that a patch put into the Scale must be the object's; those of custom resources are
    not looked at. Raises Conflict."""
    said, actual = new["metadata"].get("uid"), old["metadata"]["uid"]
    if said != actual and scope.resource.checks_scale:
        text = f"Precondition failed: UID in precondition: {said}, UID in object meta: {actual}"
        named = GroupResource(scope.resource.group, f"{scope.resource.resource}/scale")
        raise Conflict(named, scope.name, text)
    new["metadata"]["uid"] = actual


def scaled(scope: Scope, old: Object, manager: str, rescale: Rescale) -> Object:
    """The object with the replicas of the Scale that a PUT or a patch made, and with the managers
    that follow."""
    live = _live(scope, old)
    fields = scale_manager(applies=scope.resource.applies_scale)
    scale = fields.update(
        live, rescale(live), manager, api_version=SCALE_VERSION, subresource="scale", now=scope.now
    )
    return _put_back(scope, old, scale)


def applied(scope: Scope, old: Object, manager: str, patch: Patch) -> Object:
    """The object after a Scale was applied. Reads the configuration only now that there is an
    object."""
    scale, strict_error = read_applied(patch)
    fields, live, force = (
        scale_manager(applies=scope.resource.applies_scale),
        _live(scope, old),
        bool(patch.options.force),
    )
    merged = fields.apply(
        live,
        scale,
        manager,
        force=force,
        api_version=SCALE_VERSION,
        subresource="scale",
        now=scope.now,
    )
    report_strict(scope, patch, strict_error)
    check_name_and_namespace(scope, merged)
    return _put_back(scope, old, merged)


def _live(scope: Scope, old: Object) -> Object:
    scale = scope.resource.hooks.scale_for_update(old)
    with suppress(InvalidManagedFields):
        scale["metadata"]["managedFields"] = to_scale(
            old["metadata"].get("managedFields"), _paths(scope.resource)
        )
    return scale


def _put_back(scope: Scope, old: Object, scale: Object) -> Object:
    if scope.resource.checks_scale and (errors := _errors(scale)):
        raise Invalid(GroupKind("autoscaling", "Scale"), scope.name, errors)
    replicas = scale.get("spec", {}).get("replicas", 0)
    new: Object = copy_json(old)
    scope.resource.hooks.set_scale(new, replicas)
    metadata = scale.get("metadata", {})
    new["metadata"]["resourceVersion"] = (
        metadata.get("resourceVersion") or old["metadata"]["resourceVersion"]
    )
    if metadata.get("uid"):
        new["metadata"]["uid"] = metadata["uid"]
    try:
        entries = to_parent(
            old["metadata"].get("managedFields"),
            metadata.get("managedFields"),
            scope.gvk.api_version,
            _paths(scope.resource),
        )
    except InvalidManagedFields:
        return new
    new["metadata"].pop("managedFields", None)
    if entries:
        new["metadata"]["managedFields"] = entries
    return new


def _errors(scale: Object) -> FieldErrors:
    """The Scale has to be right as a whole, also what of it nobody stores
    (``pkg/apis/autoscaling/validation`` ValidateScale)."""
    metadata, path = scale.get("metadata", {}), FieldPath("metadata")
    errors = identity_errors(metadata, path, namespaced=True, name_rule=namerules.dns_subdomain)
    errors += shared_errors(metadata, path) + standard_finalizer_errors(metadata, path)
    replicas = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0:
        errors.append(invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
    return errors


def _paths(resource: Resource) -> ReplicasPaths:
    """Where each version of the object keeps its replicas."""
    texts = {version: resource.replicas_path(version) for version in resource.versions}
    return {
        resource.gvk(version).api_version: replicas_path(text) if text else None
        for version, text in texts.items()
    }
