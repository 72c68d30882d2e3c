"""StorageVersionMigrations are carried out: one at a time in a tenant, the oldest of a resource
first (kubernetes ``pkg/controller/storageversionmigrator``, migrationrunner.go,
storageversionmigrator.go, resourceversion.go).

How objects are migrated is `apiserver.controllers.storagemigration`'s, for ``manage.py
migrate_storage`` too. One worker does it for a tenant, and renews a lease meanwhile; every other
one that has heard of it goes on when that one is gone. Nothing has to be remembered: a migration
that is begun again finds what is still stored in an old version.

Unlike upstream, a definition loses its ``storedVersions`` only to a migration that succeeded, and
one that changes meanwhile has its objects migrated again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.rounds import Rounds
from apiserver.controllers.storagemigration import Failure, Moved, StorageMigration
from apiserver.controllers.upkeep import Unchanged
from apiserver.kinds.apiextensions import conditions as of_definitions
from apiserver.kinds.common.metaconditions import condition, conditions_of, holds, put
from apiserver.kinds.served import Resource
from apiserver.kinds.storagemigration.storageversionmigration import FAILED, RUNNING, SUCCEEDED
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now, parse_time
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.leases import Candidate
from apiserver.storage.relations import Relations

log = logging.getLogger("polyplane.controllers")

MIGRATIONS = GroupResource("storagemigration.k8s.io", "storageversionmigrations")
MANAGER = "migration-runner-controller"
"""Of what it says of a definition."""
MIGRATING = "StorageMigrating"
RENEWALS = 3
"""How often a lease is renewed while it lasts."""
COMING = timedelta(minutes=1)
"""For so long a migration waits for a resource that nobody knows: its definition may be on the
way."""
_LONGEST = 4096
"""Characters of a reason that an object could not be stored."""
_MOST = 1000
"""Resources of a tenant that one sweep finds."""
_UNKNOWN = "resource does not exist in discovery"
_VERBS = ("update", "patch", "list")
"""That a resource needs, whose objects are to be migrated."""


class MigrationRequests:
    """The names that it looks at are those of resources, with their group (`GroupResource`)."""

    controller = names.MIGRATION
    resources = frozenset({MIGRATIONS})

    def __init__(
        self,
        actions: Actions,
        relations: Relations,
        catalog: TenantCatalog,
        candidate: Candidate,
    ) -> None:
        self._actions, self._catalog, self._candidate = actions, catalog, candidate
        self._unchanged = Unchanged(relations, MIGRATIONS)
        self._rounds = Rounds(self._look_at_all)

    async def stop(self) -> None:
        await self._rounds.stop()

    def concerned(self, event: Event) -> tuple[str, float] | None:
        migration = orjson.loads(event.record.data)
        if event.type == "DELETED" or _ended(migration):
            return None
        return str(_resource_of(migration)), 0.0

    async def look(self, tenant: Tenant, name: str) -> float | None:
        """Begins only: a migration may take hours, and nothing else has to wait for it."""
        self._rounds.start(tenant, [name])
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        if await self._unchanged.since_last(tenant):
            return []
        resources: set[str] = set()
        async for record in self._actions.each(tenant, MIGRATIONS):
            migration = orjson.loads(record.data)
            if not _ended(migration) and len(resources) < _MOST:
                resources.add(str(_resource_of(migration)))
        return sorted(resources)

    # --- rounds -----------------------------------------------------------------------------------
    async def _look_at_all(self, tenant: Tenant, names: set[str]) -> Iterable[str] | None:
        duty = f"storage-migrations/{tenant.id}"
        if not await self._candidate.elected(duty):
            return names  # until that worker is done, or gone
        left: set[str] = set()
        async with self._held(duty):
            for name in sorted(names):
                resource, _, group = name.partition(".")
                if not await self._all_of(tenant, GroupResource(group, resource)):
                    left.add(name)
        return left

    @asynccontextmanager
    async def _held(self, duty: str) -> AsyncIterator[None]:
        async def renew() -> None:
            while True:
                await asyncio.sleep(self._candidate.seconds / RENEWALS)
                await self._candidate.elected(duty)

        task = asyncio.create_task(renew())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._candidate.resign(duty)

    async def _all_of(self, tenant: Tenant, group_resource: GroupResource) -> bool:
        """False: some have not ended."""
        waiting: list[Object] = []
        async for record in self._actions.each(tenant.id, MIGRATIONS):
            migration = orjson.loads(record.data)
            if _resource_of(migration) == group_resource and not _ended(migration):
                waiting.append(migration)
        for migration in sorted(waiting, key=_order):
            if not await self._carry_out(tenant, group_resource, migration):
                return False
        return True

    # --- one migration ----------------------------------------------------------------------------
    async def _carry_out(
        self, tenant: Tenant, group_resource: GroupResource, migration: Object
    ) -> bool:
        """Whether it has ended."""
        name = migration["metadata"]["name"]
        why = await self._obstacle(tenant, group_resource)
        if not why or not holds(migration, RUNNING):
            await self._begin(tenant, name, waits=bool(why))
        since = parse_time(migration["metadata"]["creationTimestamp"])
        if why == _UNKNOWN and now() - since < COMING:
            return False
        if why:
            return await self._end(tenant, name, why)
        await self._mark_running(tenant, group_resource, name)
        resource = await self._find(tenant, group_resource)
        if resource is None:
            return False
        migration_of = StorageMigration(self._actions.registry, self._catalog)
        try:
            outcome = await migration_of.migrate(tenant, resource, lambda looked, done: None)
        except Moved as moved:
            log.info("migration %s of tenant %s begins anew: %s", name, tenant.name, moved)
            return False
        lasting = [failure for failure in outcome.failed if failure.lasting]
        if outcome.failed and not lasting:
            first = outcome.failed[0]
            log.info("migration %s of tenant %s waits: %s", name, tenant.name, first.reason)
            return False
        await self._mark_ended(tenant, group_resource, not lasting)
        return await self._end(tenant, name, _told(lasting[0]) if lasting else "")

    async def _obstacle(self, tenant: Tenant, group_resource: GroupResource) -> str:
        """Why none of its objects can be migrated, "" where they can: discovery is asked."""
        await self._catalog.fresh(tenant)
        resource = self._catalog.find(tenant, *group_resource)
        if resource is None:
            return _UNKNOWN
        version, served = next((name, v) for name, v in resource.versions.items() if v.served)
        if not resource.terminating and {*_VERBS} <= {*served.verbs}:
            return ""
        which = f"{resource.group}/{version}, Resource={resource.resource}"
        return f'resource "{which}" does not support discovery operations: [{" ".join(_VERBS)}]'

    async def _find(self, tenant: Tenant, group_resource: GroupResource) -> Resource | None:
        """The resource as which its objects are stored: both groups of Events have one."""
        await self._catalog.fresh(tenant)
        resource = self._catalog.find(tenant, *group_resource)
        if resource is None or resource.versions_may_go:
            return resource
        return self._catalog.stored(resource.storage)

    async def _begin(self, tenant: Tenant, name: str, waits: bool) -> None:
        """From this version of the tenant on, whatever is written is in today's version. waits: for
        the resource, of which there is no version yet."""
        head = await self._actions.registry.store.head(tenant.id)

        def edit(obj: Object) -> bool:
            status = obj["status"] = dict(obj.get("status") or {})
            if not waits:
                status["resourceVersion"] = status.get("resourceVersion") or str(head)
            if not holds(obj, RUNNING) and not _ended(obj):
                why = ("MigrationRunning", "The migration is running")
                status["conditions"] = _with(obj, condition(RUNNING, "True", *why, now()))
            return True

        await self._change(tenant, name, edit)

    async def _end(self, tenant: Tenant, name: str, failure: str) -> bool:
        """Says how it ended, and in the same write that it runs no more (kube-controller-manager's
        migrator and its runner take one each)."""
        end = condition(SUCCEEDED, "True", "StorageVersionMigrationSucceeded", "", now())
        if failure:
            why = ("StorageVersionMigrationFailed", failure[:_LONGEST])
            end = condition(FAILED, "True", *why, now())

        def edit(obj: Object) -> bool:
            if not _ended(obj):
                status = obj["status"] = dict(obj.get("status") or {})
                status["conditions"] = _with(obj, end)
                if holds(obj, RUNNING):
                    over = ("MigrationCompleted", "Migration completed")
                    put(status, RUNNING, "False", *over, now=now())
            return True

        await self._change(tenant, name, edit)
        return True

    async def _change(self, tenant: Tenant, name: str, edit: Callable[[Object], bool]) -> None:
        await self._actions.change(tenant, ObjectKey(*MIGRATIONS, "", name), edit, "status")

    # --- the definition ---------------------------------------------------------------------------
    async def _mark_running(self, tenant: Tenant, group_resource: GroupResource, name: str) -> None:
        await self._mark(
            tenant, group_resource, "True", "MigrationRunning", f"Migration {name} is running"
        )

    async def _mark_ended(
        self, tenant: Tenant, group_resource: GroupResource, succeeded: bool
    ) -> None:
        reason, message = "MigrationFailed", "The migration has failed"
        if succeeded:
            reason = "MigrationSucceeded"
            message = "The migration has succeeded and the stored versions have been updated"
        await self._mark(tenant, group_resource, "False", reason, message)

    async def _mark(
        self, tenant: Tenant, group_resource: GroupResource, status: str, reason: str, message: str
    ) -> None:
        """Writes condition `MIGRATING` of the resource's definition, if it has one."""
        key = ObjectKey(*DEFINITIONS, "", str(group_resource))
        crd = await self._actions.get(tenant, key)
        if crd is None:
            return
        said = {
            "type": MIGRATING,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": crd["metadata"].get("generation", 0),
        }
        present = of_definitions.find(crd, MIGRATING) or {}
        if any(present.get(member) != value for member, value in said.items()):
            applied = {**said, "lastTransitionTime": format_time(now())}
            await self._actions.apply_status(tenant, key, {"conditions": [applied]}, MANAGER)


def _resource_of(migration: Object) -> GroupResource:
    resource = (migration.get("spec") or {}).get("resource") or {}
    return GroupResource(resource.get("group") or "", resource.get("resource") or "")


def _told(failure: Failure) -> str:
    what = f"{failure.object}: " if failure.object else ""
    return f"migration encountered unhandled error: {what}{failure.reason}"


def _ended(migration: Object) -> bool:
    return holds(migration, SUCCEEDED) or holds(migration, FAILED)


def _order(migration: Object) -> tuple[datetime, str]:
    metadata = migration["metadata"]
    return parse_time(metadata["creationTimestamp"]), metadata["name"]


def _with(migration: Object, added: Object) -> list[Object]:
    """Its conditions with this one in the place of what it said of that type."""
    return [x for x in conditions_of(migration) if x["type"] != added["type"]] + [added]
