"""What follows the write of a CustomResourceDefinition: accepted names, conditions, APIServices,
and the end of its instances.

The worker that commits a write of a definition sees to it at once, so that its instances are served
within milliseconds; every other worker that has the tenant in use looks a moment later, in case the
first one is gone. What is looked at is what changed, and of the same API group those that waited
for a name that has become free. Writes are conditional, and names are claimed in the write itself
(apiserver.registry.definitionnames), so two that look at one time do no harm.

The end of a definition's instances may take long, so that it has rounds of its own, held by one
elected worker (`apiserver.controllers. crd_instances`). Whatever a worker leaves undone when it
dies can be told from the definition as it is stored: the next worker that uses the tenant goes on
from there, or the sweep of `apiserver.controllers.manager`.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping, Sequence

from apiserver.controllers.crd_apiservices import register
from apiserver.controllers.crd_instances import InstanceController
from apiserver.controllers.crd_status import change_status
from apiserver.controllers.rounds import Rounds
from apiserver.errors import ApiError, NotFound
from apiserver.kinds.apiextensions import conditions
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import now
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.definitions import DEFINITIONS, Change, Definition
from apiserver.registry.offload import repeatable
from apiserver.registry.scope import Scope, Tenant
from apiserver.storage.interface import Event
from apiserver.storage.leases import Candidate

log = logging.getLogger("polyplane.crd")

SAFETY = 1.0
"""Seconds after which a worker sees to definitions that another one wrote."""


class DefinitionController:
    """One in each worker. candidate: who stands for the duty to end instances."""

    def __init__(self, registry: Registry, catalog: TenantCatalog, candidate: Candidate) -> None:
        self._registry, self.catalog = registry, catalog
        self._instances = InstanceController(registry, catalog, candidate)
        self._settling = Rounds(self._settle_all)
        registry.store.observe(self._committed)

    async def stop(self) -> None:
        await self._settling.stop()
        await self._instances.stop()

    def changed(self, tenant: Tenant, changes: Sequence[Change]) -> None:
        """The catalog has seen other definitions than before."""
        names = {d.name for change in changes for d in change if d is not None} | self._freed(
            tenant, changes
        )
        # workers take turns
        later = SAFETY * random.uniform(1.0, 1.5)  # noqa: S311
        delay = 0.0 if self._settling.busy(tenant.id) else later
        self._settling.start(tenant, names, delay)

    def look(self, tenant: Tenant, name: str) -> None:
        """Someone has found that the definition waits for something."""
        self._settling.start(tenant, [name])

    def _committed(self, tenant_id: int, events: Sequence[Event]) -> None:
        names = {e.record.key.name for e in events if e.record.key.group_resource == DEFINITIONS}
        tenant = self.catalog.used(tenant_id) if names else None
        if tenant is not None:
            self._settling.start(tenant, names)
        self._instances.committed(tenant_id, events)

    def _freed(self, tenant: Tenant, changes: Iterable[Change]) -> set[str]:
        """Definitions that wait for a name that one of the changed ones held."""
        names: set[str] = set()
        for old, new in changes:
            lost = old.held - (new.held if new is not None else set()) if old is not None else set()
            if lost and old is not None:
                names |= {
                    name
                    for name, other in self.catalog.group(tenant, old.group).items()
                    if lost & other.spec_names
                }
        return names

    # --- names and conditions ---------------------------------------------------------------------
    async def _settle_all(self, tenant: Tenant, names: set[str]) -> Iterable[str] | None:
        if not await self.catalog.latest(tenant):
            return None
        left, groups = set(), set()
        for name in sorted(names):
            definition = self.catalog.definitions(tenant).get(name)
            groups.add(definition.group if definition is not None else name.partition(".")[2])
            if definition is not None and not await self._settle(tenant, definition):
                left.add(name)
        ending = [
            d.name
            for name in names
            if (d := self.catalog.definitions(tenant).get(name)) is not None and d.ending
        ]
        if ending:
            self._instances.start(tenant, ending)
        try:
            await register(self._registry, self.catalog, tenant, groups)
        except ApiError as e:  # admission may refuse it
            log.info(
                "APIServices of %s in tenant %s wait: %s",
                ", ".join(sorted(groups)),
                tenant.name,
                e.message,
            )
            return names
        return left

    async def _settle(self, tenant: Tenant, definition: Definition) -> bool:
        """False: it could not be done now."""
        if not unsettled(definition, self.catalog.group(tenant, definition.group)):
            return True

        async def change(crd: Object, scope: Scope) -> None:
            await self.catalog.latest(
                tenant
            )  # when names turn out to be taken, this is called again
            others = [d.outline for d in self.catalog.group(tenant, definition.group).values()]
            asker = scope.asker(len(definition.entry.json))
            await repeatable(asker, lambda: conditions.settle(crd, others, scope.now))

        try:
            await change_status(self._registry, self.catalog, tenant, definition.name, change)
        except NotFound:
            return True
        except ApiError as e:
            log.info(
                "definition %s of tenant %s waits: %s", definition.name, tenant.name, e.message
            )
            return False
        return True


def unsettled(definition: Definition, group: Mapping[str, Definition]) -> bool:
    """Whether its names or conditions are to be changed. Most definitions hold all names that they
    want: of those the others need not be asked."""
    if definition.deleting:
        return False
    return _changes(definition.outline, ()) and _changes(
        definition.outline, [d.outline for d in group.values()]
    )


def _changes(outline: Object, others: Sequence[Object]) -> bool:
    settled = copy_json(outline)
    conditions.settle(settled, others, now())
    return bool(settled["status"] != outline["status"])


__all__ = ["DefinitionController", "unsettled"]
