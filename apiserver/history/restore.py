"""Rollback and undelete: an old state written anew, as its user could write it by hand.

Both go through the registry: admission, validation, quotas, a new resourceVersion, an audit entry.
What is not the past's to say stays as it is now:

- uid, creationTimestamp, generation, deletionTimestamp: of a rollback the object's own; an
  undeleted object is a new one and gets new ones, and so does what was made of its uid, such as a
  Job's selector. Another object of the same name is never rolled back to.
- status: where it has a subresource of its own, its controllers write it.
- finalizers: they say who has something to clean up now. A rollback keeps those that are there, an
  undelete begins without any.
- owners that are gone: the garbage collector would take the object away again.
- managedFields: who rolls back owns what that changes.
- fields that its definition does not have any more: nobody could write them.

`Left` names each of these where it makes a difference.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from apiserver.errors import AlreadyExists, Conflict, MethodNotAllowed, NotFound
from apiserver.history.revisions import RESTORES
from apiserver.history.visit import Visit
from apiserver.kinds.base import Kind
from apiserver.kinds.history.revision import API_VERSION
from apiserver.kinds.served import ServedVersion
from apiserver.meta.objects import Object, ReadOnlyObject, copy_json, owner_references_of
from apiserver.registry.changes import Change
from apiserver.registry.core import Registry
from apiserver.registry.create import create
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.translate import storage_errors
from apiserver.registry.update import update
from apiserver.registry.versions import load, size_of
from apiserver.registry.write import Request
from apiserver.storage.history import Version

_OWN = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "finalizers",
)
"""Members of metadata that stay the living object's."""

_STATUS = "status is written by the object's controllers"
_FINALIZERS = "finalizers say who has something to clean up now"
_PRUNED = "its definition does not have the field any more"
_OWNER = "the owner is gone: the garbage collector would take the object away again"


class Left(NamedTuple):
    """A field that does not come back."""

    path: str
    reason: str


class Restored(NamedTuple):
    """changed: whether anything was written."""

    object: Object
    left: list[Left]
    changed: bool


def rolled_back(
    past: ReadOnlyObject, live: ReadOnlyObject, living: Collection[str], served: ServedVersion
) -> tuple[Object, list[Left]]:
    """What a rollback writes over ``live``. living: uids of owners that are there."""
    new, left = _without_dead_owners(past, living)
    metadata, now = new["metadata"], live["metadata"]
    if set(metadata.get("finalizers") or ()) != set(now.get("finalizers") or ()):
        left.append(Left(".metadata.finalizers", _FINALIZERS))
    for name in (*_OWN, "managedFields"):
        metadata.pop(name, None)
    metadata.update({name: copy_json(now[name]) for name in _OWN if name in now})
    if "status" in served.subresources:
        if new.get("status") != live.get("status"):
            left.append(Left(".status", _STATUS))
        new.pop("status", None)
        if "status" in live:
            new["status"] = copy_json(live["status"])
    return new, left


def undeleted(
    past: ReadOnlyObject, living: Collection[str], served: ServedVersion, hooks: Kind
) -> tuple[Object, list[Left]]:
    """What an undelete creates."""
    new, left = _without_dead_owners(past, living)
    hooks.forget_uid(new)
    if new["metadata"].get("finalizers"):
        left.append(Left(".metadata.finalizers", _FINALIZERS))
    for name in (*_OWN, "managedFields"):
        new["metadata"].pop(name, None)
    if "status" in served.subresources and new.pop("status", None):
        left.append(Left(".status", _STATUS))
    return new, left


def _without_dead_owners(
    past: ReadOnlyObject, living: Collection[str]
) -> tuple[Object, list[Left]]:
    new: Object = copy_json(dict(past))
    left: list[Left] = []
    owners = []
    for owner in owner_references_of(new):
        if owner.get("uid") in living:
            owners.append(owner)
        else:
            path = f'.metadata.ownerReferences[uid="{owner.get("uid", "")}"]'
            left.append(Left(path, f"{owner.get('kind', '')} {owner.get('name', '')}: {_OWNER}"))
    new["metadata"].pop("ownerReferences", None)
    if owners:
        new["metadata"]["ownerReferences"] = owners
    return new, left


class _Rollback(Change):
    """left: what the attempt that was stored did not bring back."""

    def __init__(
        self, past: Object, living: Collection[str], size: int, preconditions: ReadOnlyObject
    ) -> None:
        super().__init__(size)
        self._past, self._living, self._preconditions = past, living, preconditions
        self.left: list[Left] = []
        self.before = ""

    async def make(
        self, registry: Registry, scope: Scope, asker: Asker, old: Object | None
    ) -> Object:
        resource = scope.resource.group_resource
        if old is None:
            raise NotFound(resource, scope.name)
        metadata, uid = old["metadata"], self._past["metadata"].get("uid", "")
        if metadata.get("uid") != uid:
            why = f"the revision is of an object that is gone (uid {uid}); undelete brings back"
            raise Conflict(resource, scope.name, f"{why} what is gone once its name is free")
        _check(scope, self._preconditions, metadata)
        self.before = metadata["resourceVersion"]
        new, self.left = await by_size(
            asker, lambda: rolled_back(self._past, old, self._living, scope.served)
        )
        return new


def _check(scope: Scope, preconditions: ReadOnlyObject, metadata: ReadOnlyObject) -> None:
    """``metadata``: of the object as it is. Raises Conflict."""
    for name, value in preconditions.items():
        now = metadata.get(name, "")
        if value and now != value:
            why = f"Precondition failed: {name} in precondition: {value}, in object: {now}"
            raise Conflict(scope.resource.group_resource, scope.name, why)


async def rollback(
    visit: Visit, version: Version, request: Request, preconditions: ReadOnlyObject
) -> Restored:
    """Raises Forbidden, Conflict, NotFound and all that an update raises."""
    scope, past, pruned = await _past(visit, version, "rollback", "update")
    change = _Rollback(
        past, await _living(visit, past), size_of(scope, version.record), preconditions
    )
    if await _current(visit, version) is None:
        why = "the object is deleted: undelete brings it back"
        raise Conflict(scope.resource.group_resource, scope.name, why)
    stored = await update(visit.registry, scope, change, request)
    obj: Object = stored.object
    changed = request.dry_run or obj["metadata"].get("resourceVersion") != change.before
    return Restored(obj, change.left + pruned, changed)


async def undelete(
    visit: Visit, version: Version, request: Request, preconditions: ReadOnlyObject
) -> Restored:
    """Raises Forbidden, AlreadyExists, Conflict for preconditions, which nothing fulfils where
    nothing is, and all that a create raises."""
    scope, past, pruned = await _past(visit, version, "undelete", "create")
    if await _current(visit, version) is not None:
        raise AlreadyExists(scope.resource.group_resource, scope.name)
    _check(scope, preconditions, {})
    living, size = await _living(visit, past), size_of(scope, version.record)
    hooks = scope.resource.hooks
    new, left = await by_size(
        scope.asker(size), lambda: undeleted(past, living, scope.served, hooks)
    )
    create_scope = replace(scope, name="")
    stored: Stored = await create(visit.registry, create_scope, new, request, size=size)
    return Restored(stored.object, left + pruned, True)


async def _past(
    visit: Visit, version: Version, how: str, verb: str
) -> tuple[Scope, Object, list[Left]]:
    """The object's scope, the object as it was, and what its definition has left out of it. Raises
    Forbidden for who may not do that by hand, Conflict where its definition is gone."""
    key = version.record.key
    scope = await visit.scope_of(version)
    if scope is None:
        why = f"the definition of {key.group_resource} is gone: bring that back first"
        raise Conflict(key.group_resource, key.name, why)
    await visit.must(verb, scope.resource.group_resource, key.namespace, key.name)
    if verb not in scope.served.verbs:
        raise MethodNotAllowed(scope.resource.group_resource, verb)
    if scope.trail is not None:
        scope.trail.annotate(RESTORES[how], str(version.number))
    past = await load(visit.registry, scope, version.record)
    pruned = [Left(path, _PRUNED) for path in await visit.pruned(scope, version, past)]
    return scope, past, pruned


async def _living(visit: Visit, past: ReadOnlyObject) -> set[str]:
    uids = [owner.get("uid", "") for owner in owner_references_of(past)]
    return await visit.living([uid for uid in uids if _is_uid(uid)])


def _is_uid(text: Any) -> bool:
    return isinstance(text, str) and len(text) == 36 and text.count("-") == 4


async def _current(visit: Visit, version: Version) -> object | None:
    with storage_errors(visit.scope):
        return await visit.registry.store.get(visit.scope.tenant.id, version.record.key)


def answer(version: Version, restored: Restored, api_version: str = API_VERSION) -> Object:
    """A RevisionRestore."""
    key, obj = version.record.key, restored.object
    metadata = {"name": str(version.number)}
    if key.namespace:
        metadata["namespace"] = key.namespace
    names = ("namespace", "name", "uid", "resourceVersion")
    reference = {name: obj["metadata"][name] for name in names if obj["metadata"].get(name)}
    return {
        "kind": "RevisionRestore",
        "apiVersion": api_version,
        "metadata": metadata,
        "objectRef": {"kind": obj["kind"], "apiVersion": obj["apiVersion"], **reference},
        "unchanged": not restored.changed,
        "notRestored": [left._asdict() for left in restored.left],
        "object": obj,
    }
