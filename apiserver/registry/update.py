"""Update: one read-change-write loop under PUT, PATCH and apply, for the object and its
subresources.

A write starts from the cached object where there is one. If it then fails, or changes nothing, the
answer counts when the database says that that object is the latest; otherwise the loop starts again
from there (k8s.io/apiserver ``storage/etcd3`` GuaranteedUpdate).
"""

from __future__ import annotations

import orjson

from apiserver.errors import ApiError, Conflict, NotFound
from apiserver.fieldmanager.managed import keep_times
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.meta.values import value
from apiserver.registry import deletion, preconditions, write
from apiserver.registry.changes import Change
from apiserver.registry.core import Registry, State, write_of
from apiserver.registry.create import create_absent
from apiserver.registry.offload import by_size
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.targets import NEW, Target, target_of
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import as_it_was, is_current, load, size_of
from apiserver.registry.write import Request, Writing
from apiserver.storage.errors import Claimed, KeyMissing, NeedMissing, Stale
from apiserver.storage.interface import ObjectKey

CLAIM_ATTEMPTS = 8
"""How often a write that claims what another object holds, or needs what has gone, is begun again:
a change that picks something else needs no more than two."""


async def update(registry: Registry, scope: Scope, change: Change, request: Request) -> Stored:
    """Raises ApiError, StorageError."""
    loop = _Update(registry, scope, change, request, target_of(scope.subresource), scope.key())
    return await loop.run()


@value(frozen=True, slots=True)
class _Update:
    """One update, however many attempts it takes."""

    registry: Registry
    scope: Scope
    change: Change
    request: Request
    target: Target
    key: ObjectKey

    async def run(self) -> Stored:
        registry, tenant = self.registry, self.scope.tenant.id
        state, is_latest = await registry.current(self.scope, self.key)
        claims_lost = 0
        while True:
            outcome: Stored | ApiError | None = None
            try:
                outcome, is_stored = await self._attempt(state)
                if is_latest or is_stored:
                    return outcome
            except ApiError as error:
                if is_latest:
                    raise
                outcome = error
            except (Stale, KeyMissing):
                pass
            except (Claimed, NeedMissing):
                claims_lost += 1
                if claims_lost == CLAIM_ATTEMPTS:
                    raise Conflict(self.scope.resource.group_resource, self.scope.name) from None
                await registry.watches.fresh(tenant, self.scope.resource.storage)
            latest = await registry.store.get(tenant, self.key)
            if outcome is not None and _same_version(latest, state):
                return _settled(outcome)
            state, is_latest = latest, True

    async def _attempt(self, state: State | None) -> tuple[Stored, bool]:
        """What comes of it, and whether that is stored (an update that changes nothing, or a dry
        run, stores nothing)."""
        if state is None:
            return await self._create(), True
        registry, scope, change, request = self.registry, self.scope, self.change, self.request
        asker = scope.asker(max(change.size, size_of(scope, state)))
        old = await load(registry, scope, state, asker)
        new = await change.make(registry, scope, asker, old)
        if change.uid_is_precondition:
            preconditions.check_uid(scope, new, old, dry_run=request.dry_run)
        w = write.begin(registry, scope, request, self.target, new, old, asker)
        if not change.sets_managers:
            await write.manage(w)
        await write.mutate(w)
        preconditions.check_resource_version(scope, w.new, old)
        await write.prepare(w)
        await write.validate(w)
        w.new = keep_times(w.new, old, has_go_type=scope.resource.has_go_type)
        with write.charged(w):
            await write.admit(w)
            await write.settle(w)
            if _is_last_of_deletion(w.new, old):
                return await self._delete(w, state), True
            return await self._store(w, old, state)

    async def _store(self, w: Writing, old: Object, state: State) -> tuple[Stored, bool]:
        registry, resource = self.registry, self.scope.resource
        same = await by_size(
            w.asker, lambda: _same(w.new, old) and is_current(registry, resource, state)
        )
        if same and not await self._completes(old, state):
            w.new["metadata"] = resource.ordered_metadata(w.new["metadata"])
            return Stored.of_object(w.new), False
        form = await write.encode(w)
        passing = (Stale, KeyMissing, Claimed, NeedMissing)
        stored = await write.commit(w, form, state.resource_version, passing=passing)
        return stored, not self.request.dry_run

    async def _completes(self, old: Object, state: State) -> bool:
        """Whether an update that changes nothing is to be stored all the same: the first one of an
        object of some kinds (`completed_by_update` in `apiserver.kinds.base`)."""
        if not self.scope.resource.hooks.completed_by_update(old):
            return False
        tenant = self.scope.tenant.id
        return await self.registry.store.is_first(tenant, state.resource_version)

    async def _create(self) -> Stored:
        scope, change, request = self.scope, self.change, self.request
        may_create = change.creates or scope.resource.hooks.allow_create_on_update
        if scope.subresource or not may_create:
            raise NotFound(scope.resource.group_resource, scope.name)
        asker = scope.asker(change.size)
        new = await change.make(self.registry, scope, asker, None)
        preconditions.check_no_uid(
            scope, new, is_precondition=change.uid_is_precondition, dry_run=request.dry_run
        )
        w = write.begin(self.registry, scope, request, NEW, new, None, asker)
        if not change.sets_managers:
            await write.manage(w)
        await write.mutate(w)
        # any version is right for an object that is not there, if it is a version at all
        preconditions.resource_version_of(w.new)
        w.new["metadata"].pop("resourceVersion", None)
        stored = await create_absent(self.registry, scope, w.new, request, asker)
        stored.created = True
        return stored

    async def _delete(self, w: Writing, state: State) -> Stored:
        """The update itself is not stored: watchers see the object go as it last was, the client
        what it sent."""
        scope = self.scope
        if not self.request.dry_run:
            last = orjson.loads(state.json)
            with storage_errors(scope, scope.name, passing=(Stale, KeyMissing)):
                await self.registry.write(
                    scope,
                    write_of("delete", self.key, last, as_it_was(state), state.resource_version),
                    w.new,
                    w.attributes.audit,
                    self.request.manager,
                )
            await deletion.follow(self.registry, scope)
        return Stored.of_object(w.new)


def _same_version(latest: State | None, state: State | None) -> bool:
    return bool(latest and state and latest.resource_version == state.resource_version)


def _settled(outcome: Stored | ApiError) -> Stored:
    """What came of an object that has turned out to be the latest."""
    if isinstance(outcome, ApiError):
        raise outcome
    return outcome


def _is_last_of_deletion(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Whether the update took off the last finalizer of an object that is being deleted."""
    metadata = new["metadata"]
    if (
        not metadata.get("deletionTimestamp")
        or metadata.get("finalizers")
        or metadata.get("deletionGracePeriodSeconds")
    ):
        return False
    return (
        not new.get("spec", {}).get("finalizers")
        if new.get("kind") == "Namespace"
        else bool(old["metadata"].get("deletionTimestamp"))
    )


def _same(new: Object, old: Object) -> bool:
    """Whether nothing would change. Python holds True equal to 1, JSON does not: equal dictionaries
    are compared as JSON again."""
    return new == old and orjson.dumps(new, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        old, option=orjson.OPT_SORT_KEYS
    )
