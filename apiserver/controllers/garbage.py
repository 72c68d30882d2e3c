"""Garbage collection: dependents follow their owners, in the way that the deletion asked for.

Who stays and who goes is said in `apiserver.controllers.ownership`. What is judged is read from the
database at that moment, and it is deleted only in the very state that was judged (uid and
resourceVersion); whatever has changed meanwhile is judged anew.

Source: "Garbage Collection" and "Owners and dependents" in the Kubernetes documentation, kubernetes
``pkg/controller/garbagecollector`` (processDeletingDependentsItem, attemptToOrphanWorker).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.controllers import names
from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.correlation import Regarding
from apiserver.controllers.ownership import (
    Identity,
    Kinds,
    Unresolvable,
    blocking,
    blocks,
    classify,
    drop_finalizer,
    elsewhere,
    policy_of,
    references_of,
    release,
    said_of_elsewhere,
    unblock,
)
from apiserver.controllers.recorder import Recorder
from apiserver.errors import ApiError, Conflict
from apiserver.kinds.common.objectmeta import FOREGROUND, ORPHAN
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Owner, Relations

log = logging.getLogger("polyplane.controllers")

AT_ONCE = 8
"""Objects of one tenant that are read together and then seen to side by side."""
ROUNDS = 5
"""How often an object is judged again at once that has changed while it was."""
_NAMED = 4
"""Owners that an audit entry tells of."""
_NONE_KNOWN: Mapping[str, Identity] = {}


@dataclass
class Outcome:
    """stuck: uids of objects that nobody can judge for now; failed: of those that want another
    look, with the reason of the last."""

    stuck: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    reason: str = ""


class GarbageCollector:
    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations
        self._recorder = Recorder(actions, names.GARBAGE)

    async def owners_gone(self, tenant: Tenant, gone: Mapping[str, Identity]) -> Outcome:
        """Judges all dependents of objects (by uid) that are gone."""
        dependents = await self._relations.dependents(tenant.id, list(gone))
        return await self.collect(tenant, [d.uid for d in dependents if not d.deleting], gone)

    async def collect(
        self, tenant: Tenant, uids: Sequence[str], gone: Mapping[str, Identity] = _NONE_KNOWN
    ) -> Outcome:
        """Judges objects (by uid): deletes those that no solid owner keeps, and takes from the
        others the references to owners that are gone. An object that cannot be judged now holds up
        none of the others: the outcome names it. ``gone``: see `classify`."""
        judge = _Judge(self._actions, self._relations, tenant, gone)
        outcome = Outcome()
        for chunk in _chunks(uids):
            items = await self._actions.items(tenant, chunk)
            owners = await judge.owners(items)
            for item in items:
                self._tell(tenant, item, owners)
            settling = (judge.settle(item, owners) for item in items)
            results = await asyncio.gather(*settling, return_exceptions=True)
            for item, error in zip(items, results, strict=True):
                if isinstance(error, Unresolvable):
                    outcome.stuck.add(item.uid)
                elif isinstance(error, ApiError):
                    outcome.failed.add(item.uid)
                    outcome.reason = f"{item.key.resource}/{item.key.name}: {error}"
                elif error is not None:
                    raise error
        if outcome.failed:
            log.info(
                "garbage waits, %d objects; the last is %s", len(outcome.failed), outcome.reason
            )
        return outcome

    def _tell(self, tenant: Tenant, item: Item, owners: Mapping[str, Owner]) -> None:
        """Before it is judged: what only has owners elsewhere goes."""
        namespace, references = item.key.namespace, references_of(item.metadata)
        reference = elsewhere(namespace, references, owners)
        if reference is None or item.metadata.get("deletionTimestamp"):
            return
        if (kind := self._actions.preferred(tenant, item.key)) is None:
            return
        about = Regarding(kind.api_version, kind.kind, namespace, item.key.name, item.uid)
        self._recorder.record(tenant, about, said_of_elsewhere(namespace, reference))

    async def marked(self, tenant: Tenant, key: ObjectKey) -> bool:
        """One pass over an object that waits with a collector's finalizer. False: come again."""
        item = await self._actions.item(tenant, key)
        if item is None or not item.metadata.get("deletionTimestamp"):
            return True
        finalizers = item.metadata.get("finalizers") or ()
        if ORPHAN in finalizers:
            return await self._orphan(tenant, item)
        if FOREGROUND in finalizers:
            return await self._foreground(tenant, item)
        return True

    async def _foreground(self, tenant: Tenant, owner: Item) -> bool:
        """Dependents are judged, the owner goes when none blocks it (any more). One that is being
        deleted already is left to itself."""
        dependents = await self._relations.dependents(tenant.id, [owner.uid])
        await self.collect(tenant, [d.uid for d in dependents if not d.deleting])
        if await self._blocked(tenant, owner.uid):
            if await self._in_circle(tenant, owner):
                await self._actions.change_metadata(tenant, owner, unblock)
            return False
        await self._drop_finalizer(tenant, owner, FOREGROUND)
        return True

    async def _blocked(self, tenant: Tenant, owner: str) -> bool:
        dependents = await self._relations.dependents(tenant.id, [owner])
        for chunk in _chunks([d.uid for d in dependents]):
            items = await self._actions.items(tenant, chunk)
            if any(blocks(item.metadata, owner) for item in items):
                return True
        return False

    async def _in_circle(self, tenant: Tenant, owner: Item) -> bool:
        """Whether the object blocks, by its own references, what it waits for: when all of a circle
        is being deleted at once, nobody judges any of it (`_Judge.settle`), and upstream waits for
        ever."""
        seen: set[str] = set()
        above = {owner.uid: owner.metadata}
        while above:
            uids = {
                r.get("uid", "") for m in above.values() for r in references_of(m) if blocking(r)
            }
            if owner.uid in uids:
                return True
            owners = await self._relations.owners(tenant.id, uids - seen)
            seen |= uids
            waiting = [uid for uid, state in owners.items() if state.waiting]
            above = {}
            for chunk in _chunks(waiting):
                above |= {i.uid: i.metadata for i in await self._actions.items(tenant, chunk)}
        return False

    async def _orphan(self, tenant: Tenant, owner: Item) -> bool:
        """No dependent refers to it any more when it goes. One that is created between the last
        look and the end of its owner is found right after: whoever looks for dependents of what
        went comes later (`apiserver.controllers.manager.SETTLE`)."""
        for _ in range(ROUNDS):
            left = await self._release_dependents(tenant, owner.uid)
            if left is None:
                return False
            if not left:
                await self._drop_finalizer(tenant, owner, ORPHAN)
                return await self._release_dependents(tenant, owner.uid) is not None
        return False  # somebody creates dependents as fast as they are released

    async def _release_dependents(self, tenant: Tenant, owner: str) -> int | None:
        """How many there were; None where one could not be changed."""
        dependents = await self._relations.dependents(tenant.id, [owner])
        for chunk in _chunks([d.uid for d in dependents]):
            items = await self._actions.items(tenant, chunk)
            changes = (
                self._actions.change_metadata(tenant, item, lambda m: release(m, {owner}))
                for item in items
            )
            for error in await asyncio.gather(*changes, return_exceptions=True):
                if isinstance(error, ApiError):
                    log.info("an owner waits for a dependent that stays: %s", error)
                    return None
                if error is not None:
                    raise error
        return len(dependents)

    async def _drop_finalizer(self, tenant: Tenant, owner: Item, name: str) -> None:
        await self._actions.change_metadata(tenant, owner, lambda m: drop_finalizer(m, name))


@dataclass
class _Judge:
    """Settles what becomes of single objects of one tenant."""

    actions: Actions
    relations: Relations
    tenant: Tenant
    gone: Mapping[str, Identity]
    kinds: Kinds = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = Kinds(self.actions.resources(self.tenant))

    async def owners(self, items: Sequence[Item]) -> Mapping[str, Owner]:
        """The owners of these objects that exist, by uid. One query for all of them, because it
        costs as much as a deletion."""
        uids = {r.get("uid", "") for item in items for r in references_of(item.metadata)}
        return await self.relations.owners(self.tenant.id, uids) if uids else {}

    async def settle(self, item: Item, owners: Mapping[str, Owner]) -> None:
        """Decides about one object and carries it out. ``owners``: what `owners` returned after the
        object was read, not before. Raises Unresolvable where a reference cannot be followed,
        ApiError where it has to be tried again."""
        current: Item | None = item
        for _ in range(ROUNDS):
            if current is None or current.metadata.get("deletionTimestamp"):
                return
            try:
                if await self._step(current, owners):
                    return
            except Conflict:
                pass  # it has changed since it was read
            current = next(iter(await self.actions.items(self.tenant, [item.uid])), None)
            owners = await self.owners([current] if current is not None else [])
        raise Conflict(item.key.group_resource, item.key.name)

    async def _step(self, item: Item, owners: Mapping[str, Owner]) -> bool:
        """One attempt. False or Conflict: the object has to be read and judged anew."""
        references = references_of(item.metadata)
        if not references:
            return True  # they were taken off since the question was asked
        standing = classify(item.key.namespace, references, self.kinds, owners, self.gone)
        if standing.solid:
            if useless := standing.dangling | standing.waiting:
                await self.actions.change_metadata(self.tenant, item, lambda m: release(m, useless))
            return True
        policy = policy_of(item.metadata)
        if standing.waiting:
            below = await self.relations.below(self.tenant.id, item.uid)
            if below.waiting and any(map(blocking, references)):  # a circle, perhaps
                await self.actions.change_metadata(self.tenant, item, unblock)
                return False
            policy = "Foreground" if below.any else policy
        await self.actions.delete_judged(self.tenant, item, policy, _cause(references))
        return True


def _cause(references: Sequence[Mapping[str, Any]]) -> str:
    """For the audit log, which knows by their names who deleted the owners."""
    owners = (
        " ".join(str(r.get(member, "")) for member in ("apiVersion", "kind", "name", "uid"))
        for r in references[:_NAMED]
    )
    return f"deletion of its owners: {', '.join(owners)}"


def _chunks(uids: Collection[str]) -> Iterator[Sequence[str]]:
    ordered = list(uids)
    return (ordered[start : start + AT_ONCE] for start in range(0, len(ordered), AT_ONCE))
