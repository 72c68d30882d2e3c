"""Delete: preconditions, grace, finalizers for garbage collection, and the removal itself.

Sources: k8s.io/apiserver ``registry/rest/delete.go`` (BeforeDelete) and
``registry/generic/registry/store.go`` (deletion finalizers).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum

from admission.attributes import Attributes
from apiserver.errors import ApiError, Conflict, Invalid, NotFound
from apiserver.fielderrors import invalid
from apiserver.kinds.common.objectmeta import FOREGROUND, ORPHAN
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import format_time, parse_time
from apiserver.registry.core import Registry, State, write_of
from apiserver.registry.options import UNSAFE, DeleteOptions
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import as_it_was, load, size_of, to_store
from apiserver.storage.errors import KeyMissing, Stale, StorageError

log = logging.getLogger("polyplane.api")
_COMPANIONS = {GroupResource("", "services"): GroupResource("", "endpoints")}


@dataclass(slots=True)
class Deleted:
    """object: its last state if it is gone, else the marked object; gone: whether it has left the
    store."""

    object: Object
    gone: bool


async def delete(
    registry: Registry, scope: Scope, options: DeleteOptions, *, of_collection: bool = False
) -> Deleted:
    """``of_collection``: the request is about a collection, so that admission is told no name, and
    what a kind says of the deletion of one object is not asked."""
    _refuse_unsafe(scope, options)
    attributes = registry.attributes(
        scope,
        "DELETE",
        "" if of_collection else scope.name,
        None,
        None,
        dry_run=options.dry_run,
        options=options.as_object(),
    )
    key = scope.key()
    record = await registry.store.get(scope.tenant.id, key)
    while True:
        if record is None:
            raise NotFound(scope.resource.group_resource, scope.name)
        asker = scope.asker(size_of(scope, record))
        lookup = registry.lookup(scope.tenant, asker)
        old = await load(registry, scope, record, asker)
        check_preconditions(scope.resource, old, options)
        attributes.old = old
        await registry.chain.admit(attributes, lookup)
        await registry.chain.validate(attributes, lookup)
        if not of_collection:
            scope.resource.hooks.validate_delete(old, scope.context(dry_run=options.dry_run))
        try:
            deleted = await _attempt(registry, scope, record, attributes, options)
        except (Stale, KeyMissing):
            record = await registry.store.get(scope.tenant.id, key)
            continue
        if deleted.gone and not options.dry_run:
            await follow(registry, scope)
        return deleted


def _refuse_unsafe(scope: Scope, options: DeleteOptions) -> None:
    if options.unsafe:
        text = "is exclusively used to delete corrupt object(s), try again by removing this option"
        resource = scope.resource.group_resource
        raise Invalid(
            GroupKind(resource.group, resource.resource), scope.name, [invalid(UNSAFE, True, text)]
        )


async def follow(registry: Registry, scope: Scope) -> None:
    """After an object has gone: a Service takes its Endpoints with it, and nobody is asked
    (afterDelete of kubernetes ``registry/core/service/storage``). That they stay is logged."""
    companion = _COMPANIONS.get(scope.resource.storage)
    resource = companion and registry.catalog.find(scope.tenant, *companion)
    if not resource:
        return
    served = resource.versions[resource.storage_version]
    other = replace(scope, resource=resource, served=served, subresource="")
    try:
        await delete(registry.unasked(), other, DeleteOptions())
    except NotFound:
        pass
    except (ApiError, StorageError) as e:
        log.warning("%s of what has gone stay: %s", companion, type(e).__name__)


def warn(scope: Scope, options: DeleteOptions) -> None:
    """Says that dependents will stay behind, where nobody said whether they should. Of what cannot
    be read nobody knows."""
    if (
        scope.resource.hooks.orphan_warning
        and not options.unsafe
        and options.propagation_policy is None
        and options.orphan_dependents is None
    ):
        scope.warn(scope.resource.hooks.orphan_warning)


async def _attempt(
    registry: Registry,
    scope: Scope,
    record: State,
    attributes: Attributes,
    options: DeleteOptions,
) -> Deleted:
    resource, key, old, notes = scope.resource, scope.key(), attributes.old, attributes.audit
    assert old is not None, "a deletion is of something"
    new = copy_json(old)
    step = mark(scope, new, options)
    if step is Step.NOTHING or (step is Step.KEEP and new == old):
        return Deleted(old, False)
    gone = step is not Step.KEEP
    if step is Step.REMOVE:
        new = copy_json(old)  # it goes as it was stored
    new["metadata"] = resource.ordered_metadata(new["metadata"])
    deleted = Deleted(new, gone)
    _tell(scope, deleted)
    if options.dry_run:
        return deleted
    # a webhook is not asked to convert what is removed as it is stored
    as_stored = resource.removed_as_stored and new == old
    data = as_it_was(record) if as_stored else (await to_store(registry, scope, new)).data
    expected, claims = record.resource_version, registry.claims(resource, new)
    with storage_errors(scope, scope.name, passing=(Stale, KeyMissing)):
        if step is not Step.REMOVE:
            marking = write_of("update", key, new, data, expected, claims)
            expected = await registry.write(scope, marking, new, notes)
        if gone:
            removal = write_of("delete", key, new, data, expected)
            expected = await registry.write(scope, removal, new, notes)
    new["metadata"]["resourceVersion"] = str(expected)
    return deleted


def _tell(scope: Scope, deleted: Deleted) -> None:
    """To the audit log: what answers the request, if this is the object that it is about."""
    trail = scope.trail
    if trail is None or trail.info.verb != "delete":
        return
    if trail.info.resource == scope.resource.resource:
        trail.told = _status(scope, deleted)


def check_preconditions(resource: Resource, old: Object, options: DeleteOptions) -> None:
    """Raises Conflict."""
    metadata, two_phases = old["metadata"], resource.hooks.two_phases
    group, kind = resource.group_kind
    named = resource.group_resource if two_phases else GroupResource(group, kind)
    expected, actual = options.precondition_uid, metadata.get("uid")
    if expected is not None and expected != actual:
        text = (
            f"the UID in the precondition ({expected}) does not match the UID in record "
            f"({actual}). "
            "The object might have been deleted and then recreated"
        )
        if two_phases:
            text = (
                f"Precondition failed: UID in precondition: {expected}, UID in object meta: "
                f"{actual}"
            )
        raise Conflict(named, metadata["name"], text)
    expected, actual = options.precondition_resource_version, metadata.get("resourceVersion")
    if expected is not None and expected != actual:
        text = (
            f"the ResourceVersion in the precondition ({expected}) does not match the "
            f"ResourceVersion in record "
            f"({actual}). The object might have been modified"
        )
        if two_phases:
            text = (
                f"Precondition failed: ResourceVersion in precondition: {expected}, "
                f"ResourceVersion in object meta: {actual}"
            )
        raise Conflict(named, metadata["name"], text)


class Step(Enum):
    """What a deletion comes to."""

    NOTHING = 0  # it is under way already
    KEEP = 1  # the marked object is stored and stays
    REMOVE = 2  # the object goes as it was stored
    MARK_AND_REMOVE = 3  # the marked object is stored, and then goes


def mark(scope: Scope, new: Object, options: DeleteOptions) -> Step:
    """Sets deletionTimestamp, grace and finalizers on ``new``. An object with finalizers is marked
    and kept until the last of them is taken off."""
    metadata, hooks = new["metadata"], scope.resource.hooks
    if hooks.begin_deletion(new, scope.now):
        if hooks.collected_at_once:
            _ask_collector(metadata, options)
        return Step.KEEP
    if _namespace_waits(new):
        return Step.NOTHING
    started = bool(metadata.get("deletionTimestamp"))
    if metadata.get("deletionGracePeriodSeconds", 0) < 0:
        metadata["deletionGracePeriodSeconds"] = 1  # as its maker gave it, by PUT or apply
    if not started:
        graceful = _begin(scope, new, options)
    elif not hooks.graceful or not metadata.get("deletionGracePeriodSeconds"):
        graceful = False
    elif not _shorten(scope, metadata, options):
        return Step.NOTHING
    else:
        graceful = True
    _set_finalizers(new, scope.resource, options)
    if not metadata.get("finalizers"):
        if not graceful:
            return Step.REMOVE
        return Step.KEEP if metadata["deletionGracePeriodSeconds"] > 0 else Step.MARK_AND_REMOVE
    if not started and not graceful:
        _mark_now(scope, new)
    elif not graceful:
        metadata["deletionGracePeriodSeconds"] = 0  # kinds with two phases have said nothing yet
    return Step.KEEP


def _begin(scope: Scope, new: Object, options: DeleteOptions) -> bool:
    """Whether the kind is deleted gracefully; if so, ``new`` says until when."""
    grace = scope.resource.hooks.grace_period(new, options.grace_period)
    if grace is None:
        return False
    _mark_now(scope, new)
    metadata = new["metadata"]
    metadata["deletionTimestamp"] = format_time(scope.now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def _mark_now(scope: Scope, new: Object) -> None:
    metadata = new["metadata"]
    metadata["deletionTimestamp"] = format_time(scope.now)
    if metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    metadata["deletionGracePeriodSeconds"] = 0


def _namespace_waits(obj: Object) -> bool:
    return obj.get("kind") == "Namespace" and bool(obj.get("spec", {}).get("finalizers"))


def _shorten(scope: Scope, metadata: Object, options: DeleteOptions) -> bool:
    """A second delete can only make the grace period shorter, and never moves its end into the
    past."""
    asked, period = options.grace_period, metadata["deletionGracePeriodSeconds"]
    if asked is None:
        return False
    asked = 1 if asked < 0 else asked
    if asked >= period:
        return False
    until = (
        parse_time(metadata["deletionTimestamp"])
        - timedelta(seconds=period)
        + timedelta(seconds=asked)
    )
    if until < scope.now:
        until, asked = scope.now, min(asked, 1)
    metadata["deletionTimestamp"] = format_time(until)
    metadata["deletionGracePeriodSeconds"] = asked
    return True


def _set_finalizers(obj: Object, resource: Resource, options: DeleteOptions) -> None:
    """The garbage collector's finalizer comes after those that are there; a list that names the
    same ones already stays as it is, in its own order (store.go
    deletionFinalizersForGarbageCollection)."""
    if resource.hooks.dependents == "none":
        return
    before = obj["metadata"].get("finalizers") or ()
    finalizers = [f for f in before if f not in (ORPHAN, FOREGROUND)]
    if _orphans(obj, resource, options):
        finalizers.append(ORPHAN)
    elif _foreground(obj, options):
        finalizers.append(FOREGROUND)
    if set(finalizers) == set(before):
        return
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        obj["metadata"].pop("finalizers", None)


def _ask_collector(metadata: Object, options: DeleteOptions) -> None:
    """What the options say of dependents, in ``metadata``; without a word finalizers stay
    (kubernetes ``registry/core/namespace/storage``)."""
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Foreground"
    if policy is None:
        return
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(policy, "")
    others = [f for f in metadata.get("finalizers") or () if f not in (ORPHAN, FOREGROUND)]
    finalizers = [*others, *([wanted] if wanted else [])]
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _orphans(obj: Object, resource: Resource, options: DeleteOptions) -> bool:
    """The options decide, then finalizers that are there, then the kind."""
    if options.orphan_dependents is not None:
        return options.orphan_dependents
    if options.propagation_policy is not None:
        return options.propagation_policy == "Orphan"
    for finalizer in obj["metadata"].get("finalizers") or ():
        if finalizer in (ORPHAN, FOREGROUND):
            return bool(finalizer == ORPHAN)
    return resource.hooks.dependents == "orphan"


def _foreground(obj: Object, options: DeleteOptions) -> bool:
    if options.orphan_dependents is not None:
        return False
    if options.propagation_policy is not None:
        return options.propagation_policy == "Foreground"
    return FOREGROUND in (obj["metadata"].get("finalizers") or ())


def answer_body(scope: Scope, deleted: Deleted) -> Stored:
    """The object while it is still there, and for kinds that return what they delete; a Status
    otherwise."""
    return Stored.of_object(_status(scope, deleted) or deleted.object)


def _status(scope: Scope, deleted: Deleted) -> Object | None:
    """None where the object is the answer."""
    if not deleted.gone or scope.resource.hooks.returns_deleted:
        return None
    metadata = deleted.object["metadata"]
    details = {
        "name": metadata["name"],
        "group": scope.resource.group,
        "kind": scope.resource.resource,
        "uid": metadata.get("uid", ""),
    }
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**status, "details": {k: v for k, v in details.items() if v}}
