"""Create: POST, and PUT or apply of an absent object where the kind allows that."""

from __future__ import annotations

import orjson

from admission.attributes import Object
from apiserver.errors import AlreadyExists, Conflict, Invalid, PlainError
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.base import WriteContext
from apiserver.meta.names import generate_name
from apiserver.meta.objects import copy_json
from apiserver.registry import objectmeta
from apiserver.registry.core import Registry, ordered_metadata, write_of
from apiserver.registry.declared import with_declared
from apiserver.registry.mutation import drop_doubled_owners, mutate
from apiserver.registry.offload import by_size, large_to_validate
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.translate import storage_errors
from apiserver.registry.typing import as_stored
from apiserver.registry.versions import to_store, with_manager
from apiserver.storage.errors import Claimed, KeyExists

GENERATE_ATTEMPTS = 8


async def create(registry: Registry, scope: Scope, obj: Object, *, dry_run: bool, manager: str, admitted: bool = False) -> Stored:
    """``obj``: decoded and defaulted. ``admitted``: mutating admission and field management have been done by the caller."""
    metadata = obj["metadata"]
    if metadata.get("resourceVersion") and not admitted:
        raise PlainError("resourceVersion should not be set on objects to be created")
    generated = bool(metadata.get("generateName")) and not metadata.get("name")
    claiming = scope.resource.storage in registry.hooks
    for attempt in range(GENERATE_ATTEMPTS):
        candidate = copy_json(obj) if generated or claiming else obj
        try:
            return await _create_once(registry, scope, candidate, dry_run=dry_run, manager=manager, admitted=admitted)
        except AlreadyExists:
            if not generated or attempt == GENERATE_ATTEMPTS - 1:
                raise
        except Claimed:
            if attempt == GENERATE_ATTEMPTS - 1:
                raise Conflict(scope.resource.group_resource, metadata.get("name", "")) from None
    raise AssertionError("unreachable")


async def _create_once(registry: Registry, scope: Scope, obj: Object, *, dry_run: bool, manager: str, admitted: bool) -> Stored:
    metadata = obj["metadata"]
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = generate_name(metadata["generateName"])
    name = metadata.get("name", "")
    lookup = registry.lookup(scope.tenant)
    attributes = registry.attributes(scope, "CREATE", name, obj, None, dry_run=dry_run)
    if not admitted:
        objectmeta.drop_deletion(metadata)
        drop_doubled_owners(scope, obj)
        obj = await _managed(registry, scope, obj, manager)
        attributes.object = obj
        obj = await mutate(registry, scope, attributes)
    await before_create(registry, scope, obj, dry_run=dry_run, manager=manager)
    attributes.object, attributes.name = obj, obj["metadata"].get("name", "")
    await registry.chain.validate(attributes, lookup)
    return await _store(registry, scope, obj, dry_run=dry_run)


async def _managed(registry: Registry, scope: Scope, obj: Object, manager: str) -> Object:
    def work(fields: FieldManager) -> Object:
        made = fields.update(None, obj, manager, api_version=scope.gvk.api_version, subresource=scope.subresource, now=scope.now)
        as_stored(scope.resource, scope.served, made)
        return made

    return await with_manager(registry, scope, work)


async def before_create(registry: Registry, scope: Scope, obj: Object, *, dry_run: bool, manager: str) -> None:
    """System fields, the kind's strategy and all validation, in place. Raises Invalid."""
    hooks, metadata = scope.resource.hooks, obj["metadata"]
    context = scope.context(dry_run=dry_run, field_manager=manager)
    objectmeta.fill_system_fields(metadata, scope.now)
    if not scope.resource.namespaced:
        metadata.pop("namespace", None)
    hooks.prepare_create(obj, context)
    hook = registry.hooks.get(scope.resource.storage)
    if hook is not None:
        await hook.before_write(registry, scope, obj, None, dry_run=dry_run)
    await by_size(scope.size, lambda: _check(registry, scope, obj, context), large_to_validate(scope.served.schema))


def _check(registry: Registry, scope: Scope, obj: Object, context: WriteContext) -> None:
    """All validation of a new object, its warnings and its canonical form. Raises Invalid."""
    hooks, metadata = scope.resource.hooks, obj["metadata"]
    errors = objectmeta.validate(obj, hooks, namespaced=scope.resource.namespaced)
    errors += hooks.validate(obj, context) + hooks.validate_create(obj, context)
    errors = with_declared(registry, scope, obj, None, errors)
    if errors:
        raise Invalid(scope.kind_of(obj), metadata.get("name", ""), errors)
    errors = objectmeta.path_segment_errors(obj)
    if errors:
        raise Invalid(scope.kind_of(obj), metadata.get("name", ""), errors)
    for text in hooks.warnings(obj, None, context):
        scope.warn(text)
    hooks.canonicalize(obj)


async def _store(registry: Registry, scope: Scope, obj: Object, *, dry_run: bool) -> Stored:
    key = scope.key(obj["metadata"]["name"])
    resource = scope.resource
    obj["metadata"] = ordered_metadata(obj["metadata"], resource)
    data, shown = await to_store(registry, scope, obj)
    generated = bool(obj["metadata"].get("generateName"))
    if dry_run:
        if await registry.store.get(scope.tenant.id, key) is not None:
            raise await _already_exists(registry, scope, key.name, generated=generated)
        return Stored.of_object(shown)
    claims, needs = registry.claims(resource, obj), resource.definition if isinstance(resource, CustomResource) else ""
    with storage_errors(scope, key.name, passing=(Claimed,)):
        try:
            rv = await registry.store.write(scope.tenant.id, write_of("create", key, obj, data, 0, claims, needs))
        except KeyExists:
            raise await _already_exists(registry, scope, key.name, generated=generated) from None
    shown["metadata"]["resourceVersion"] = str(rv)
    return Stored.of_write(resource, scope.version, key, shown, data, rv)


async def _already_exists(registry: Registry, scope: Scope, name: str, *, generated: bool) -> AlreadyExists:
    record = await registry.store.get(scope.tenant.id, scope.key(name))
    error = AlreadyExists(scope.resource.group_resource, name)
    if generated:
        error.message += ", the server was not able to generate a unique name for the object"
        error.details = {**(error.details or {}), "retryAfterSeconds": 1}
    if record is not None and b'"deletionTimestamp"' in record.data and orjson.loads(record.data)["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error
