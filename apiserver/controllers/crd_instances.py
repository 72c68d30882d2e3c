"""The end of a CustomResourceDefinition: all its instances are deleted, then it loses its finalizer
and goes.

One worker at a time does this for a tenant: it holds a lease, renews it in every round, and gives
it up when nothing is left; when it dies, another one follows when the lease has run out. Instances
are taken from storage as they are, without admission, schema or conversion: nothing that a client
can break may keep a definition from going. Those that have finalizers are marked once and then
waited for; that no instance is created any more is the storage's promise (Write.needs).

Source: k8s.io/apiextensions-apiserver ``controller/finalizer``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

import orjson

from apiserver.controllers.crd_apiservices import register
from apiserver.controllers.crd_status import change_status
from apiserver.controllers.rounds import Rounds
from apiserver.errors import ApiError, NotFound
from apiserver.kinds.apiextensions import conditions
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now
from apiserver.registry.core import Registry, write_of
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.definitions import Definition
from apiserver.registry.scope import Scope, Tenant
from apiserver.storage.errors import KeyMissing, Stale, StorageError, TenantGone, Unavailable
from apiserver.storage.interface import Event, Record
from apiserver.storage.leases import Candidate

log = logging.getLogger("polyplane.crd")

_IN_PROGRESS = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
PAGE = 500  # instances that are looked at together
AT_ONCE = 64  # deletions that wait for storage at the same time: one batch of it


class InstanceController:
    def __init__(self, registry: Registry, catalog: TenantCatalog, candidate: Candidate) -> None:
        self._registry, self._catalog, self._candidate = registry, catalog, candidate
        self._rounds = Rounds(self._end_all)
        self._held: dict[int, dict[GroupResource, str]] = {}
        """Of a tenant: resources all of whose instances are marked, and only waited for, with the
        uids of their definitions."""

    def start(self, tenant: Tenant, names: Iterable[str]) -> None:
        """Those definitions are being deleted."""
        self._rounds.start(tenant, names)

    async def stop(self) -> None:
        await self._rounds.stop()

    def committed(self, tenant_id: int, events: Sequence[Event]) -> None:
        held = self._held.get(tenant_id)
        if held and any(
            e.type == "DELETED" and e.record.key.group_resource in held for e in events
        ):
            self._rounds.wake(tenant_id)

    async def _end_all(self, tenant: Tenant, names: set[str]) -> Iterable[str] | None:
        if not await self._catalog.latest(tenant):
            self._held.pop(tenant.id, None)
            return None
        definitions = self._catalog.definitions(tenant)
        ending = [
            d for name in sorted(names) if (d := definitions.get(name)) is not None and d.ending
        ]
        left: list[str] = []
        if ending and not await self._candidate.elected(_duty(tenant)):
            self._held.pop(tenant.id, None)
            return [d.name for d in ending]
        for definition in ending:
            if not await self._end(tenant, definition):
                left.append(definition.name)
        if not left:
            self._held.pop(tenant.id, None)
            await self._candidate.resign(_duty(tenant))
        return left

    async def _end(self, tenant: Tenant, definition: Definition) -> bool:
        """False: some instances are still there."""
        try:
            if _reason(definition) != _IN_PROGRESS[0]:
                await self._terminating(tenant, definition, True, *_IN_PROGRESS)
            outcome = await self._outcome(tenant, definition)
            if outcome is None:
                return False
            await register(
                self._registry, self._catalog, tenant, {definition.group}, without=definition.name
            )
            await self._terminating(tenant, definition, False, *outcome)
        except NotFound:
            pass
        except ApiError as e:  # what admission refuses for one definition keeps no other waiting
            log.info(
                "the end of definition %s of tenant %s waits: %s",
                definition.name,
                tenant.name,
                e.message,
            )
            return False
        return True

    async def _outcome(self, tenant: Tenant, definition: Definition) -> tuple[str, str] | None:
        """(reason, message) of the condition at the end; None when it has not come yet."""
        plural = (definition.outline["spec"]["names"] or {}).get("plural", "")
        kept = GroupResource(definition.group, plural)
        if self._catalog.stored(kept) is not None:
            return (
                "OverlappingBuiltInResource",
                "instances overlap with built-in resources in storage",
            )
        if definition.resource is None:
            return "NeverEstablished", "resource was never established"
        held = self._held.setdefault(tenant.id, {})
        try:
            if held.get(kept) != definition.entry.uid:
                await self._delete_instances(tenant, kept)
                held[kept] = definition.entry.uid
        except (Unavailable, TenantGone):
            raise
        except StorageError as e:
            await self._terminating(
                tenant,
                definition,
                True,
                "InstanceDeletionFailed",
                f"could not issue all deletes: {e}",
            )
            raise
        page = await self._registry.store.list(tenant.id, kept, limit=1)
        return None if page.records else ("InstanceDeletionCompleted", "removed all instances")

    # --- instances --------------------------------------------------------------------------------
    async def _delete_instances(self, tenant: Tenant, resource: GroupResource) -> None:
        """Afterwards all are gone or marked. Raises StorageError."""
        after: tuple[str, str] | None = None
        more = True
        while more:
            page = await self._registry.store.list(tenant.id, resource, after=after, limit=PAGE)
            for start in range(0, len(page.records), AT_ONCE):
                await asyncio.gather(
                    *(
                        self._delete(tenant, record)
                        for record in page.records[start : start + AT_ONCE]
                    )
                )
            if page.records:
                after = page.records[-1].key.namespace, page.records[-1].key.name
            more = page.more
            if more and not await self._candidate.elected(_duty(tenant)):
                raise Unavailable("another process has taken over")

    async def _delete(self, tenant: Tenant, record: Record | None) -> None:
        """Deletes an instance; one with finalizers is marked, if it is not yet."""
        while record is not None:
            obj: Object = orjson.loads(record.data)
            waits = bool(obj["metadata"].get("finalizers"))
            if waits and obj["metadata"].get("deletionTimestamp"):
                return
            data = _marked(obj) if waits else record.data
            operation = "update" if waits else "delete"
            try:
                write = write_of(operation, record.key, obj, data, record.resource_version)
                write.cause = f"deletion of definition {record.key.resource}.{record.key.group}"
                await self._registry.store.write(tenant.id, write)
                return
            except (Stale, KeyMissing):
                record = await self._registry.store.get(tenant.id, record.key)

    async def _terminating(
        self, tenant: Tenant, definition: Definition, status: bool, reason: str, text: str
    ) -> None:
        """With status False the finalizer goes too, and so, if nobody else has one, does the
        definition."""

        async def edit(crd: Object, scope: Scope) -> None:
            if crd["metadata"].get("uid") != definition.entry.uid:
                raise NotFound(scope.resource.group_resource, definition.name)
            conditions.set_condition(crd, "Terminating", status, reason, text, scope.now)
            if not status:
                crd["metadata"]["finalizers"] = [
                    f for f in crd["metadata"].get("finalizers") or () if f != conditions.FINALIZER
                ]

        await change_status(self._registry, self._catalog, tenant, definition.name, edit)


def _duty(tenant: Tenant) -> str:
    return f"definitions/{tenant.id}"


def _reason(definition: Definition) -> str:
    condition = conditions.find(definition.outline, "Terminating") or {}
    reason: str = condition.get("reason", "")
    return reason


def _marked(obj: Object) -> bytes:
    """The object's text with a deletionTimestamp."""
    metadata = obj["metadata"]
    metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = format_time(now()), 0
    if metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    obj["metadata"] = {k: metadata[k] for k in sorted(metadata)}
    return orjson.dumps(obj)
