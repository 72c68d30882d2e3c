"""Update: one read-change-write loop under PUT, PATCH and apply, for the object and its subresources.

A write starts from the cached object where there is one. If it then fails, or changes nothing, the answer counts when the database says
that that object is the latest; otherwise the loop starts again from there (k8s.io/apiserver ``storage/etcd3`` GuaranteedUpdate).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson

from admission.attributes import Object
from apiserver.errors import ApiError, Conflict, Invalid, NotFound, PlainError
from apiserver.fielderrors import go_quote, invalid
from apiserver.fieldmanager.managed import keep_times
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.base import WriteContext
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.meta.objects import copy_json
from apiserver.registry import objectmeta
from apiserver.registry.core import Registry, State, ordered_metadata, write_of
from apiserver.registry.create import create
from apiserver.registry.declared import with_declared
from apiserver.registry.mutation import mutate
from apiserver.registry.offload import by_size, large_to_validate
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.translate import storage_errors
from apiserver.registry.typing import as_stored
from apiserver.registry.versions import as_it_was, is_current, load, to_store, with_manager
from apiserver.storage.errors import Claimed, KeyMissing, Stale
from apiserver.storage.interface import ObjectKey

Change = Callable[[Object | None], Awaitable[Object]]
"""From the live object (None: absent) to the wanted one. Must not change its argument; raises ApiError to refuse."""

CLAIM_ATTEMPTS = 8
"""How often a write that claims what another object holds is begun again: a change that picks something else needs no more than two."""

WHOLE = ("", "scale")
"""Subresources under which the whole object is written."""


@dataclass(slots=True)
class Request:
    """allow_create: a missing object may be created (apply, and PUT of kinds that allow it). before_create: called first then (the second
    authorization). uid: precondition. manager: field manager. unconditional: no resourceVersion is needed even where the kind wants one."""

    manager: str
    dry_run: bool = False
    allow_create: bool = False
    before_create: Callable[[], Awaitable[None]] | None = None
    uid_precondition: bool = True
    """A uid in the new object must be the stored one's, or there is a conflict; for patches it is a field that may not change."""
    managed: bool = False
    """The change has set managedFields itself (apply)."""


async def update(registry: Registry, scope: Scope, change: Change, request: Request) -> Stored:
    key = scope.key()
    record, fresh = await registry.current(scope, key)
    claimed = 0
    while True:
        outcome: Stored | ApiError | None = None
        try:
            outcome, written = await _attempt(registry, scope, key, record, change, request)
            if fresh or written:
                return outcome
        except ApiError as error:
            if fresh:
                raise
            outcome = error
        except (Stale, KeyMissing):
            pass
        except Claimed:
            claimed += 1
            if claimed == CLAIM_ATTEMPTS:
                raise Conflict(scope.resource.group_resource, scope.name) from None
        latest = await registry.store.get(scope.tenant.id, key)
        if outcome is not None and latest and record and latest.resource_version == record.resource_version:
            return _settled(outcome)
        record, fresh = latest, True


def _settled(outcome: Stored | ApiError) -> Stored:
    """What came of an object that has turned out to be the latest."""
    if isinstance(outcome, ApiError):
        raise outcome
    return outcome


async def _attempt(
    registry: Registry, scope: Scope, key: ObjectKey, record: State | None, change: Change, request: Request
) -> tuple[Stored, bool]:
    """What comes of it, and whether that is stored (an update that changes nothing, or a dry run, stores nothing)."""
    if record is None:
        return await _create(registry, scope, change, request), True
    scope.size = max(scope.size, len(record.json))
    old = await load(registry, scope, record)
    new = await change(old)
    if request.uid_precondition:
        _check_uid(scope, new, old, dry_run=request.dry_run)
    new = await _managed(registry, scope, new, old, request)
    attributes = registry.attributes(scope, "UPDATE", scope.name, new, old, dry_run=request.dry_run)
    new = await mutate(registry, scope, attributes)
    _check_resource_version(scope, new, old)
    await _before_update(registry, scope, new, old, request)
    new = attributes.object = keep_times(new, old)
    await registry.chain.validate(attributes, registry.lookup(scope.tenant))
    if _finished(new, old):
        return await _delete(registry, scope, key, record, new, request), True
    new["metadata"] = ordered_metadata(new["metadata"], scope.resource)
    if _same(new, old) and is_current(registry, scope.resource, record):
        return Stored.of_object(new), False
    data, shown = await to_store(registry, scope, new)
    if request.dry_run:
        return Stored.of_object(shown), False
    claims = registry.claims(scope.resource, new)
    with storage_errors(scope, scope.name, passing=(Stale, KeyMissing, Claimed)):
        rv = await registry.store.write(scope.tenant.id, write_of("update", key, new, data, record.resource_version, claims))
    shown["metadata"]["resourceVersion"] = str(rv)
    return Stored.of_write(scope.resource, scope.version, key, shown, data, rv), True


async def _managed(registry: Registry, scope: Scope, new: Object, old: Object | None, request: Request) -> Object:
    subresource = scope.subresource if old is not None else ""

    def work(manager: FieldManager) -> Object:
        return manager.update(old, new, request.manager, api_version=scope.gvk.api_version, subresource=subresource, now=scope.now)

    made = new if request.managed else await with_manager(registry, scope, work)
    await by_size(scope.size, lambda: as_stored(scope.resource, scope.served, made))
    return made


async def _create(registry: Registry, scope: Scope, change: Change, request: Request) -> Stored:
    if not (request.allow_create or scope.resource.hooks.allow_create_on_update) or scope.subresource:
        raise NotFound(scope.resource.group_resource, scope.name)
    new = await change(None)
    if uid := new["metadata"].get("uid"):
        text = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        if request.uid_precondition:
            text = _uid_text(scope, uid, "", dry_run=request.dry_run)
        raise Conflict(scope.resource.group_resource, scope.name, text)
    if request.before_create is not None:
        await request.before_create()
    new = await _managed(registry, scope, new, None, request)
    attributes = registry.attributes(scope, "CREATE", scope.name, new, None, dry_run=request.dry_run)
    new = await mutate(registry, scope, attributes)
    _resource_version(new)  # of an object that is not there any version is right that is one at all
    new["metadata"].pop("resourceVersion", None)
    stored = await create(registry, scope, new, dry_run=request.dry_run, manager=request.manager, admitted=True)
    stored.created = True
    return stored


_PREFIXES = {
    GroupResource("", "replicationcontrollers"): "controllers",
    GroupResource("", "endpoints"): "services/endpoints",
    GroupResource("", "services"): "services/specs",
    GroupResource("", "nodes"): "minions",
    GroupResource("networking.k8s.io", "ingresses"): "ingress",
}
"""Where kube-apiserver keeps what it does not keep under the resource's name (kubeapiserver ``default_storage_factory_builder.go``)."""
_SERVERS_OF_THEIR_OWN = ("apiextensions.k8s.io", "apiregistration.k8s.io")


def _uid_text(scope: Scope, wanted: str, found: str, *, dry_run: bool) -> str:
    storage = scope.resource.storage
    grouped = scope.resource.custom or storage.group in _SERVERS_OF_THEIR_OWN
    prefix = f"{storage.group}/{storage.resource}" if grouped else _PREFIXES.get(storage, storage.resource)
    path = "/".join(["" if dry_run else "/registry", prefix, *([scope.namespace] if scope.namespace else []), scope.name])
    return (
        f"StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )


def _check_uid(scope: Scope, new: Object, old: Object, *, dry_run: bool) -> None:
    wanted, found = new["metadata"].get("uid"), old["metadata"].get("uid", "")
    if wanted and wanted != found:
        raise Conflict(scope.resource.group_resource, scope.name, _uid_text(scope, wanted, found, dry_run=dry_run))


def _check_resource_version(scope: Scope, new: Object, old: Object) -> None:
    stored: str = old["metadata"]["resourceVersion"]
    wanted = _resource_version(new)
    if not wanted:
        if not scope.resource.hooks.allow_unconditional_update:
            kind = GroupKind(scope.resource.group, scope.resource.resource)
            raise Invalid(kind, scope.name, [invalid("metadata.resourceVersion", 0, "must be specified for an update")])
        new["metadata"]["resourceVersion"] = stored
    elif wanted != int(stored):
        raise Conflict(scope.resource.group_resource, scope.name)


def _resource_version(obj: Object) -> int:
    """0 for none. Raises PlainError with the text of strconv.ParseUint."""
    text = obj["metadata"].get("resourceVersion") or "0"
    if not (text.isascii() and text.isdigit()):
        raise PlainError(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    if int(text) >= 2**64:
        raise PlainError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


async def _before_update(registry: Registry, scope: Scope, new: Object, old: Object, request: Request) -> None:
    """The kind's strategy and all validation, in place (k8s.io/apiserver ``registry/rest`` BeforeUpdate)."""
    hooks, metadata = scope.resource.hooks, new["metadata"]
    context = scope.context(dry_run=request.dry_run, field_manager=request.manager)
    objectmeta.keep_generation(metadata, old["metadata"])
    before = copy_json(old)
    whole = scope.subresource in WHOLE
    if whole:
        hooks.prepare_update(new, before, context)
    elif scope.subresource == "status":
        hooks.prepare_status_update(new, before, context)
    elif scope.subresource == "binding":
        pass  # the change has only put the pod on its node
    else:
        hooks.prepare_subresource_update(scope.subresource, new, before, context)
    objectmeta.inherit(metadata := new["metadata"], old["metadata"])
    hook = registry.hooks.get(scope.resource.storage)
    if hook is not None and whole:
        await hook.before_write(registry, scope, new, old, dry_run=request.dry_run)
    await by_size(scope.size, lambda: _check(registry, scope, new, old, context), large_to_validate(scope.served.schema))


def _check(registry: Registry, scope: Scope, new: Object, old: Object, context: WriteContext) -> None:
    """All validation of a changed object, its warnings and its canonical form. Raises Invalid."""
    hooks, metadata, whole = scope.resource.hooks, new["metadata"], scope.subresource in WHOLE
    errors = objectmeta.validate_update(new, old, hooks, namespaced=scope.resource.namespaced, whole=whole)
    if whole:
        errors += hooks.validate(new, context) + hooks.validate_update(new, old, context)
    elif scope.subresource == "status":
        errors += hooks.validate_status_update(new, old, context)
    elif scope.subresource == "binding":
        errors += hooks.validate(new, context)
    else:
        errors += hooks.validate_subresource_update(scope.subresource, new, old, context)
    errors = with_declared(registry, scope, new, old, errors)
    if errors:
        raise Invalid(scope.kind_of(new), metadata.get("name", ""), errors)
    for text in hooks.warnings(new, old, context):
        scope.warn(text)
    hooks.canonicalize(new)


def _finished(new: Object, old: Object) -> bool:
    """Whether the update took off the last finalizer of an object that is being deleted."""
    metadata = new["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
        return False
    return not new.get("spec", {}).get("finalizers") if new.get("kind") == "Namespace" else bool(old["metadata"].get("deletionTimestamp"))


async def _delete(registry: Registry, scope: Scope, key: ObjectKey, record: State, new: Object, request: Request) -> Stored:
    """The update itself is not stored: watchers see the object go as it last was, the client what it sent."""
    if not request.dry_run:
        last = orjson.loads(record.json)
        with storage_errors(scope, scope.name, passing=(Stale, KeyMissing)):
            await registry.store.write(scope.tenant.id, write_of("delete", key, last, as_it_was(record), record.resource_version))
    return Stored.of_object(new)


def copy_of(obj: Object) -> Object:
    copied: Object = copy_json(obj)
    return copied


def _same(new: Object, old: Object) -> bool:
    """Whether nothing would change. Python holds True equal to 1, JSON does not: equal dictionaries are compared as JSON again."""
    return new == old and orjson.dumps(new, option=orjson.OPT_SORT_KEYS) == orjson.dumps(old, option=orjson.OPT_SORT_KEYS)
