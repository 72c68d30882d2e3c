"""Delete: preconditions, grace, finalizers for garbage collection, and the removal itself.

Sources: k8s.io/apiserver ``registry/rest/delete.go`` (BeforeDelete) and ``registry/generic/registry/store.go`` (deletion finalizers).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from admission.attributes import Object
from apiserver.errors import Conflict, Invalid, NotFound
from apiserver.fielderrors import invalid
from apiserver.kinds.base import Resource
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.meta.objects import copy_json
from apiserver.meta.times import format_time, parse_time
from apiserver.registry.core import Registry, State, write_of
from apiserver.registry.objectmeta import FOREGROUND, ORPHAN
from apiserver.registry.options import DeleteOptions
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.translate import storage_errors
from apiserver.storage.errors import KeyMissing, Stale
from apiserver.storage.interface import ObjectKey

UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"


@dataclass(slots=True)
class Deleted:
    """object: the object as it was (or is, marked); gone: whether it has left the store."""

    object: Object
    gone: bool


async def delete(registry: Registry, scope: Scope, options: DeleteOptions) -> Deleted:
    if options.unsafe:
        text = "is exclusively used to delete corrupt object(s), try again by removing this option"
        resource = scope.resource.group_resource
        raise Invalid(GroupKind(resource.group, resource.resource), scope.name, [invalid(UNSAFE, True, text)])
    attributes = registry.attributes(scope, "DELETE", scope.name, None, None, dry_run=options.dry_run)
    lookup = registry.lookup(scope.tenant)
    key = scope.key()
    record = await registry.store.get(scope.tenant.id, key)
    await registry.chain.admit(attributes, lookup)
    if record is None:
        raise NotFound(scope.resource.group_resource, scope.name)
    while True:
        old = registry.materialize(scope, record)
        attributes.old = old
        await registry.chain.validate(attributes, lookup)
        scope.resource.hooks.validate_delete(old, scope.context(dry_run=options.dry_run))
        try:
            return await _attempt(registry, scope, key, record, old, options)
        except (Stale, KeyMissing):
            latest = await registry.store.get(scope.tenant.id, key)
            if latest is None:
                raise NotFound(scope.resource.group_resource, scope.name) from None
            record = latest


async def _attempt(registry: Registry, scope: Scope, key: ObjectKey, record: State, old: Object, options: DeleteOptions) -> Deleted:
    resource = scope.resource
    check_preconditions(resource, old, options)
    new = copy_json(old)
    if not mark(scope, new, old, options):
        return Deleted(old, False)
    grace = new["metadata"].get("deletionGracePeriodSeconds") or 0
    wait = bool(new["metadata"].get("finalizers")) or grace > 0 or _namespace_waits(new)
    if options.dry_run:
        return Deleted(new, not wait)
    data = registry.encode(resource, new)
    if wait and new["metadata"] == old["metadata"] and new.get("status") == old.get("status"):
        return Deleted(old, False)
    expected, claims = record.resource_version, registry.claims(resource, new)
    graceful = resource.hooks.grace_period(new, options.grace_period) is not None
    with storage_errors(scope, scope.name, passing=(Stale, KeyMissing)):
        if wait or graceful:  # kinds with grace are marked first, even when they go at once
            expected = await registry.store.write(scope.tenant.id, write_of("update", key, new, data, expected, claims))
        if not wait:
            expected = await registry.store.write(scope.tenant.id, write_of("delete", key, new, data, expected))
    new["metadata"]["resourceVersion"] = str(expected)
    return Deleted(new, not wait)


def check_preconditions(resource: Resource, old: Object, options: DeleteOptions) -> None:
    metadata = old["metadata"]
    named = GroupResource(resource.group, resource.kind)
    if options.precondition_uid is not None and options.precondition_uid != metadata.get("uid"):
        text = (
            f"the UID in the precondition ({options.precondition_uid}) does not match the UID in record ({metadata.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
        raise Conflict(named, metadata["name"], text)
    wanted = options.precondition_resource_version
    if wanted is not None and wanted != metadata.get("resourceVersion"):
        text = (
            f"the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record "
            f"({metadata.get('resourceVersion')}). The object might have been modified"
        )
        raise Conflict(named, metadata["name"], text)


def mark(scope: Scope, new: Object, old: Object, options: DeleteOptions) -> bool:
    """Sets deletionTimestamp, grace and finalizers on ``new``. False: it is being deleted already and nothing has to change."""
    metadata = new["metadata"]
    if scope.resource.hooks.begin_deletion(new, scope.now):
        return True
    if metadata.get("deletionTimestamp"):
        _set_finalizers(new, scope.resource, options)
        changed_finalizers = metadata.get("finalizers") != old["metadata"].get("finalizers")
        return _shorten(scope, metadata, options) or changed_finalizers or not _waits(old)
    grace = scope.resource.hooks.grace_period(new, options.grace_period)
    if grace is not None and grace < 0:
        grace = 1
    _set_finalizers(new, scope.resource, options)
    if grace is None and not metadata.get("finalizers") and not _namespace_waits(new):
        return True  # it goes at once, as it was
    metadata["deletionTimestamp"] = format_time(scope.now + timedelta(seconds=grace or 0))
    metadata["deletionGracePeriodSeconds"] = grace or 0
    if metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    if new.get("kind") == "Namespace":
        new.setdefault("status", {})["phase"] = "Terminating"
    return True


def _waits(obj: Object) -> bool:
    metadata = obj["metadata"]
    return bool(metadata.get("finalizers")) or (metadata.get("deletionGracePeriodSeconds") or 0) > 0 or _namespace_waits(obj)


def _namespace_waits(obj: Object) -> bool:
    return obj.get("kind") == "Namespace" and bool(obj.get("spec", {}).get("finalizers"))


def _shorten(scope: Scope, metadata: Object, options: DeleteOptions) -> bool:
    """A second delete can only make the grace period shorter."""
    asked, period = options.grace_period, metadata.get("deletionGracePeriodSeconds") or 0
    if asked is None or period == 0:
        return False
    asked = 1 if asked < 0 else asked
    if asked >= period:
        return False
    marked = parse_time(metadata["deletionTimestamp"])
    metadata["deletionTimestamp"] = format_time(marked - timedelta(seconds=period) + timedelta(seconds=asked))
    metadata["deletionGracePeriodSeconds"] = asked
    return True


def _set_finalizers(obj: Object, resource: Resource, options: DeleteOptions) -> None:
    finalizers = [f for f in obj["metadata"].get("finalizers") or () if f not in (ORPHAN, FOREGROUND)]
    if _orphans(obj, options):
        finalizers.append(ORPHAN)
    elif _foreground(obj, options):
        finalizers.append(FOREGROUND)
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        obj["metadata"].pop("finalizers", None)


def _orphans(obj: Object, options: DeleteOptions) -> bool:
    if options.orphan_dependents is not None:
        return options.orphan_dependents
    if options.propagation_policy is not None:
        return options.propagation_policy == "Orphan"
    finalizers = obj["metadata"].get("finalizers") or ()
    return ORPHAN in finalizers


def _foreground(obj: Object, options: DeleteOptions) -> bool:
    if options.orphan_dependents is not None:
        return False
    if options.propagation_policy is not None:
        return options.propagation_policy == "Foreground"
    return FOREGROUND in (obj["metadata"].get("finalizers") or ())


def answer(scope: Scope, deleted: Deleted) -> Stored:
    """The object while it is still there, and for kinds that return what they delete; a Status otherwise."""
    if not deleted.gone or scope.resource.hooks.returns_deleted:
        return Stored.of_object(deleted.object)
    metadata = deleted.object["metadata"]
    details = {
        "name": metadata["name"],
        "group": scope.resource.group,
        "kind": scope.resource.resource,
        "uid": metadata.get("uid", ""),
    }
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return Stored.of_object({**status, "details": {k: v for k, v in details.items() if v}})
