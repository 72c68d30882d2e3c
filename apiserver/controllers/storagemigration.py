"""Storage migration: objects that are stored in an old version are stored in today's.

An object is converted and written as an update would store it, by compare-and-swap, and nothing
else about it changes: no admission, no validation, no managers, no generation. Whoever changes it
at the same moment wins, and has then stored it in today's version itself. Pages are read one after
the other; what is written meanwhile behind the reader was written in today's version, except by a
process that has not heard of it yet. So a pass that found anything is followed by another one, a
moment later, until one finds nothing. Only then, and only if the definition's spec is still the
same, are the other versions taken off its ``status.storedVersions``. It may be stopped and run
again at any time. ``manage.py migrate_storage`` and
`apiserver.controllers.migrationrequests` use it.

Source of the procedure: "Versions in CustomResourceDefinitions" in the Kubernetes documentation
(upgrade existing objects to a new stored version).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver.controllers.crd_status import change_status
from apiserver.errors import ApiError, PlainError
from apiserver.kinds.apiextensions.conversion import ConversionFailed
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.conversion import BATCH
from apiserver.registry.core import Registry, write_of
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.scope import Scope, Tenant
from apiserver.storage.errors import (
    InvalidText,
    KeyMissing,
    ObjectTooLarge,
    QuotaExceeded,
    RateExceeded,
    Stale,
)
from apiserver.storage.interface import ObjectKey, Record, stored_api_version
from apiserver.watch.entry import Entry

PAGE = 500
AT_ONCE = 64
"""Writes that wait for storage at the same time."""
SETTLE = 2.0
"""Seconds within which every process knows a definition as it is."""

Progress = Callable[[int, int], None]
"""Told (objects looked at, objects stored anew) after each page."""


class Moved(Exception):
    """The definition changed while its objects were migrated."""


class Failure(NamedTuple):
    """object: namespace/name; lasting: trying again would not help."""

    object: str
    reason: str
    lasting: bool


@dataclass(slots=True)
class Outcome:
    """version: of storage; outdated: objects that were (with dry_run: are) stored in another;
    failed: what could not be converted or stored; trimmed: what went from
    status.storedVersions."""

    resource: GroupResource
    version: str
    outdated: int = 0
    failed: list[Failure] = field(default_factory=list)
    trimmed: list[str] = field(default_factory=list)


class StorageMigration:
    def __init__(
        self, registry: Registry, catalog: TenantCatalog, *, settle: float | None = None
    ) -> None:
        self._registry, self._catalog, self._settle = (
            registry,
            catalog,
            SETTLE if settle is None else settle,
        )

    async def migrate(
        self, tenant: Tenant, resource: Resource, progress: Progress, *, dry_run: bool = False
    ) -> Outcome:
        """``resource``: as the catalog has it now, fresh. Raises Moved, StorageError."""
        outcome = Outcome(resource.storage, resource.storage_version)
        generation, stored = self._definition(tenant, resource)
        done = settled = stored == [resource.storage_version]
        while True:
            migrated = await self._pass(tenant, resource, outcome, progress, dry_run)
            if dry_run or outcome.failed:
                return outcome
            if settled and not migrated:
                break
            if resource.versions_may_go:
                await asyncio.sleep(self._settle)
                await self._check_unmoved(tenant, resource)
            settled = True
        if not done:
            await self._trim(tenant, resource, outcome, generation)
        return outcome

    # --- objects ----------------------------------------------------------------------------------
    async def _pass(
        self,
        tenant: Tenant,
        resource: Resource,
        outcome: Outcome,
        progress: Progress,
        dry_run: bool,
    ) -> int:
        """How many outdated objects were found."""
        api_version = resource.gvk(resource.storage_version).api_version
        after: tuple[str, str] | None = None
        looked = old_count = 0
        more = True
        while more:
            page = await self._registry.store.list(
                tenant.id, resource.storage, after=after, limit=PAGE
            )
            outdated = [
                record for record in page.records if stored_api_version(record.data) != api_version
            ]
            failed = await self._renew(tenant, resource, outdated, dry_run)
            outcome.failed += failed
            looked += len(page.records)
            old_count += len(outdated)
            outcome.outdated += len(outdated)
            progress(looked, old_count - len(outcome.failed))
            more = page.more
            if page.records:
                after = page.records[-1].key.namespace, page.records[-1].key.name
        return old_count

    async def _renew(
        self, tenant: Tenant, resource: Resource, records: Sequence[Record], dry_run: bool
    ) -> list[Failure]:
        """What could not be converted or stored, and why."""
        failed: list[Failure] = []
        for start in range(0, len(records), BATCH):
            converted = await self._converted(
                tenant, resource, records[start : start + BATCH], failed
            )
            for at in range(0, len(converted), AT_ONCE):
                if not dry_run:
                    part = converted[at : at + AT_ONCE]
                    answers = await asyncio.gather(
                        *(self._store(tenant, resource, record, obj) for record, obj in part)
                    )
                    failed += [answer for answer in answers if answer is not None]
        return failed

    async def _converted(
        self,
        tenant: Tenant,
        resource: Resource,
        records: Sequence[Record],
        failed: list[Failure],
    ) -> list[tuple[Record, Object]]:
        """Together if that is possible; else one by one, to find out which of them it is about."""
        try:
            return await self._convert(tenant, resource, records)
        except ConversionFailed as error:
            if len(records) == 1:
                failed.append(Failure(_name(records[0].key), error.message, False))
                return []
        return [
            pair
            for record in records
            for pair in await self._converted(tenant, resource, [record], failed)
        ]

    async def _convert(
        self, tenant: Tenant, resource: Resource, records: Sequence[Record]
    ) -> list[tuple[Record, Object]]:
        version = resource.storage_version
        if not resource.versions_may_go:
            return [
                (r, self._registry.to_version(resource, resource.loads(r.data), version))
                for r in records
            ]
        entries = [Entry.of(resource.storage, record, self._registry.index) for record in records]
        converted = await self._registry.converter.entries(
            tenant, self._registry.lookup(tenant), resource, entries, version
        )
        return [(record, entry.object()) for record, entry in zip(records, converted, strict=True)]

    async def _store(
        self, tenant: Tenant, resource: Resource, record: Record, obj: Object
    ) -> Failure | None:
        """Why it failed."""
        registry = self._registry
        claims = registry.claims(resource, obj)
        write = write_of(
            "update",
            record.key,
            obj,
            registry.encode(resource, obj),
            record.resource_version,
            claims,
        )
        try:
            await registry.store.write(tenant.id, write)
        except (Stale, KeyMissing):
            return None  # somebody has written it, or it is gone; the next pass looks again
        except (QuotaExceeded, RateExceeded) as error:
            return Failure(_name(record.key), str(error), False)
        except (ObjectTooLarge, InvalidText) as error:
            return Failure(_name(record.key), str(error), True)
        return None

    # --- the definition ---------------------------------------------------------------------------
    def _definition(self, tenant: Tenant, resource: Resource) -> tuple[int, list[str]]:
        """(generation, storedVersions) of the definition; the generation rises with every change of
        its spec."""
        definition = (
            self._catalog.definitions(tenant).get(str(resource.group_resource))
            if resource.versions_may_go
            else None
        )
        if definition is None:
            return 0, [resource.storage_version]
        crd = definition.entry.object()
        return int(crd["metadata"].get("generation", 0)), (crd.get("status") or {}).get(
            "storedVersions"
        ) or []

    async def _check_unmoved(self, tenant: Tenant, resource: Resource) -> None:
        await self._catalog.fresh(tenant)
        if self._catalog.find(tenant, *resource.group_resource) is not resource:
            raise Moved(f"{resource.group_resource} was changed meanwhile")

    async def _trim(
        self, tenant: Tenant, resource: Resource, outcome: Outcome, generation: int
    ) -> None:
        async def edit(crd: Object, scope: Scope) -> None:
            same = crd["metadata"]["uid"] == resource.definition
            if not same or crd["metadata"].get("generation", 0) != generation:
                raise PlainError("it was changed meanwhile")
            outcome.trimmed = [
                v
                for v in crd["status"].get("storedVersions") or ()
                if v != resource.storage_version
            ]
            crd["status"]["storedVersions"] = [resource.storage_version]

        try:
            await change_status(
                self._registry, self._catalog, tenant, str(resource.group_resource), edit
            )
        except ApiError as error:
            raise Moved(f"{resource.group_resource}: {error.message}") from None


def _name(key: ObjectKey) -> str:
    return f"{key.namespace}/{key.name}" if key.namespace else key.name
