"""EndpointSlices of what somebody has written into Endpoints, for Services that select nothing
(kubernetes ``pkg/controller/endpointslicemirroring``).

The Endpoints of a namespace are looked at together. Those that say so are left alone, as are those
by which somebody elects a leader.

| Endpoints | their Service | slices of this controller |
|---|---|---|
| are there, and may be mirrored | is there, without a selector | say what the Endpoints say |
| are there | has a selector, or is not there | go |
| are not there, or may not be mirrored | whatever | go |
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.managedslices import create, delete, is_managed, key_of, managed
from apiserver.controllers.mirrored import CONTROLLER, Mirror, may_be_mirrored
from apiserver.controllers.ownservice import ENDPOINTS, NAME, NAMESPACE, SLICES
from apiserver.controllers.recorder import Recorder, regarding_of
from apiserver.controllers.refusals import each_its_turn
from apiserver.controllers.selecting import AGAIN, CHEAP, RESTORE, SETTLE, SHARE
from apiserver.controllers.slicing import Slice
from apiserver.controllers.upkeep import Rest, Shown
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import Event, Record
from apiserver.storage.pool import Database
from apiserver.storage.touched import UNMIRRORED, Touched

SOURCE = "endpoint-slice-mirroring-controller"
OWN = (NAMESPACE, NAME)
_Named = Mapping[str, tuple[Record, Object]]


class MirroredEndpoints:
    """Looks at the Endpoints of a namespace by its name."""

    controller = names.MIRRORING
    resources = frozenset({SERVICES, ENDPOINTS, SLICES})

    def __init__(self, actions: Actions, database: Database) -> None:
        self._actions = actions
        self._touched = Touched(database, self.resources, UNMIRRORED, CONTROLLER)
        self._rest = Rest(SHARE, CHEAP)
        self._shown = Shown()
        self._recorder = Recorder(actions, SOURCE)
        self._told = dict[str, tuple[int, int]]()

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if (key.namespace, key.name) == OWN:  # every tenant has these, and they are never mirrored
            return None
        if key.group_resource != SLICES:
            return key.namespace, SETTLE
        return (key.namespace, RESTORE) if CONTROLLER.encode() in event.record.data else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        if not await self._known(tenant, name):
            return None
        return await self._rest.around(tenant.id, name, lambda: self.settle(tenant, name))

    async def _known(self, tenant: Tenant, namespace: str) -> bool:
        """Whether there may be something to do. Endpoints of Services that select pods change all
        the time, so the watch caches are asked, which may be a moment old: whoever changes a
        Service looks himself. What the database has shown is not asked about."""
        if self._shown.take(tenant.id, namespace):
            return True
        lookup = self._actions.registry.lookup(tenant)
        services = await lookup.list(SERVICES, namespace)
        if not all(service["spec"].get("selector") for service in services):
            return True
        return any(is_managed(s, CONTROLLER) for s in await lookup.list(SLICES, namespace))

    async def settle(self, tenant: Tenant, namespace: str) -> float | None:
        """The seconds until the next look, should nothing happen before."""
        services = await self._named(tenant, SERVICES, namespace)
        endpoints = await self._named(tenant, ENDPOINTS, namespace)
        mirrored, taken = await managed(self._actions, tenant, namespace, CONTROLLER)
        again = False
        with each_its_turn() as turn:
            for name in sorted({*endpoints, *mirrored}):
                await asyncio.sleep(0)
                with turn():
                    service, own = services.get(name), mirrored.get(name, [])
                    there = endpoints.get(name)
                    if there and service and _are_mirrored(service[1], there[1]):
                        mirror = Mirror(*there, own, taken)
                        again |= not await self._carry_out(tenant, mirror)
                        continue
                    for slice_ in own:
                        await delete(self._actions, tenant, slice_)
        return AGAIN if again else None

    async def _named(self, tenant: Tenant, resource: GroupResource, namespace: str) -> _Named:
        return {
            record.key.name: (record, orjson.loads(record.data))
            async for record in self._actions.each(tenant.id, resource, namespace)
        }

    async def _carry_out(self, tenant: Tenant, mirror: Mirror) -> bool:
        """False where somebody else has written meanwhile."""
        done = True
        plan = mirror.plan()
        for family, one in plan.create:
            done &= await self._create(tenant, mirror, family, one)
        for one in plan.update:
            done &= await self._update(tenant, mirror, one)
        for slice_ in plan.delete:
            await delete(self._actions, tenant, slice_)
        self._tell(tenant, mirror)
        return done

    async def _create(self, tenant: Tenant, mirror: Mirror, family: str, one: Slice) -> bool:
        of = mirror.record.key
        name = mirror.new_name(family, one)
        obj: Object = {
            "metadata": {"name": name, "namespace": of.namespace, **mirror.metadata},
            "addressType": family,
            "endpoints": one.endpoints,
            "ports": list(one.ports),
        }
        obj["metadata"]["generateName"] = f"{of.name}-"
        return await create(self._actions, tenant, obj)

    async def _update(self, tenant: Tenant, mirror: Mirror, one: Slice) -> bool:
        assert one.before is not None
        before = one.before["metadata"]

        def edit(obj: Object) -> None:
            obj["metadata"].update(mirror.metadata)
            obj["endpoints"], obj["ports"] = one.endpoints, list(one.ports)

        version = before["resourceVersion"]
        return await self._actions.change_judged(tenant, key_of(before), version, edit)

    def _tell(self, tenant: Tenant, mirror: Mirror) -> None:
        """Of addresses that are left out, once for as many."""
        uid, left = mirror.record.uid, (mirror.invalid, mirror.too_many)
        if left == self._told.get(uid, (0, 0)):
            return
        if len(self._told) > 10_000:
            self._told.clear()
        self._told[uid] = left
        for said in mirror.said():
            about = regarding_of("v1", "Endpoints", mirror.record)
            self._recorder.record(tenant, about, said)

    async def missed(self, tenant: int) -> Sequence[str]:
        found = [namespace for namespace in await self._touched.since_last(tenant) if namespace]
        self._shown.add(tenant, found)
        return found


def _are_mirrored(service: ReadOnlyObject, endpoints: ReadOnlyObject) -> bool:
    return not service["spec"].get("selector") and may_be_mirrored(endpoints)
