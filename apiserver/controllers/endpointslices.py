"""EndpointSlices of Services that select pods (kubernetes ``pkg/controller/endpointslice``).

The Services of a namespace are looked at together, for its pods are read once. Whoever writes a
pod looks; two workers that do so at one moment make slices of one name, which one of them gets.
How endpoints are dealt to slices is in `slicing`, what they are in `podendpoints`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.correlation import Said
from apiserver.controllers.managedslices import create, delete, key_of, managed
from apiserver.controllers.ownservice import SLICES
from apiserver.controllers.podendpoints import Pod, families
from apiserver.controllers.recorder import Recorder, regarding_of
from apiserver.controllers.refusals import each_its_turn
from apiserver.controllers.selecting import (
    AGAIN,
    CHEAP,
    PODS,
    RESTORE,
    SETTLE,
    SHARE,
    matters,
    may_select,
    pods_in,
    selecting,
)
from apiserver.controllers.serviceslices import CONTROLLER, NODES, ServiceSlices, Zones
from apiserver.controllers.slicing import Plan, Slice, key_of_ports
from apiserver.controllers.upkeep import Rest, Shown
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.pool import Database
from apiserver.storage.touched import UNSLICED, Touched

SOURCE = "endpoint-slice-controller"
_KNOWN = 10_000


class EndpointSlices:
    """Looks at the Services of a namespace by its name, and by "" at those that wait for nodes."""

    controller = names.ENDPOINT_SLICES
    resources = frozenset({SERVICES, PODS, SLICES, NODES})

    def __init__(self, actions: Actions, database: Database) -> None:
        self._actions = actions
        self._touched = Touched(database, [SERVICES, PODS, SLICES], UNSLICED, CONTROLLER)
        self._rest = Rest(SHARE, CHEAP)
        self._shown = Shown()
        self._written: OrderedDict[tuple[str, str], object] = OrderedDict()
        self._waiting: dict[int, set[str]] = {}
        self._told: OrderedDict[str, str] = OrderedDict()
        self._recorder = Recorder(actions, SOURCE)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        resource, namespace = event.record.key.group_resource, event.record.key.namespace
        if resource == NODES:
            return ("", SETTLE) if event.type == "ADDED" and self._waiting else None
        if resource == SLICES:
            foreign = CONTROLLER.encode() not in event.record.data
            return None if foreign or self._said(event) else (namespace, RESTORE)
        return (namespace, SETTLE) if matters(event) else None

    def _said(self, event: Event) -> bool:
        """Whether it is as this keeper has written it; of no tenant, and of any."""
        key = (event.record.key.namespace, event.record.key.name)
        if key not in self._written:
            return False
        gone = event.type == "DELETED"
        return self._written[key] == (None if gone else _content(orjson.loads(event.record.data)))

    async def look(self, tenant: Tenant, name: str) -> float | None:
        if not name:
            waits = [await self.look(tenant, x) for x in self._waiting.pop(tenant.id, ())]
            return min((wait for wait in waits if wait is not None), default=None)
        if not await self._known(tenant, name):
            return None
        return await self._rest.around(tenant.id, name, lambda: self.settle(tenant, name))

    async def _known(self, tenant: Tenant, namespace: str) -> bool:
        """What the database has shown is not asked about."""
        if self._shown.take(tenant.id, namespace):
            return True
        return await may_select(self._actions, tenant, namespace)

    async def settle(self, tenant: Tenant, namespace: str) -> float | None:
        """The seconds until the next look, should nothing happen before."""
        services = await selecting(self._actions, tenant, namespace)
        if not services:
            return None
        there = await managed(self._actions, tenant, namespace, CONTROLLER)
        pods = await pods_in(self._actions, tenant, namespace)
        zones = Zones(self._actions, tenant)
        waits = list[float]()
        with each_its_turn() as turn:
            for record, service in services:
                await asyncio.sleep(0)  # many pods take their time
                with turn():
                    own = there.of.get(record.key.name, [])
                    work = ServiceSlices(record, service, own, there.taken, zones)
                    if await self._one(tenant, work, pods.of(service)):
                        waits.append(AGAIN)
        return min(waits, default=None)

    async def _one(self, tenant: Tenant, work: ServiceSlices, pods: Sequence[Pod]) -> bool:
        """Whether somebody else has written meanwhile."""
        again = False
        wanted = families(work.service)
        for family in wanted:
            plan = await work.plan(family, pods)
            again |= await self._carry_out(tenant, work, family, plan)
        for slice_ in work.slices:
            if slice_.get("addressType") not in wanted:
                await self._delete(tenant, slice_)
        self._tell(tenant, work)
        return again

    async def _carry_out(
        self, tenant: Tenant, work: ServiceSlices, family: str, plan: Plan
    ) -> bool:
        again = False
        if not work.service["metadata"].get("deletionTimestamp"):
            for one in plan.create:
                again |= not await self._create(tenant, work, family, one)
        for one in plan.update:
            again |= not await self._update(tenant, work, one)
        for slice_ in plan.delete:
            await self._delete(tenant, slice_)
        return again

    async def _create(self, tenant: Tenant, work: ServiceSlices, family: str, one: Slice) -> bool:
        key = ObjectKey(*SLICES, work.record.key.namespace, work.new_name(family, one))
        prefix = f"{work.record.key.name}-"
        obj = {
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "generateName": prefix,
                "labels": work.labels,
                "annotations": work.annotations({}),
                "ownerReferences": [work.owner],
            },
            "addressType": family,
            "endpoints": one.endpoints,
            "ports": list(one.ports),
        }
        self._note(key.namespace, key.name, _content(obj))
        return await create(self._actions, tenant, obj)

    async def _update(self, tenant: Tenant, work: ServiceSlices, one: Slice) -> bool:
        assert one.before is not None
        before = one.before["metadata"]

        def edit(obj: Object) -> None:
            metadata = obj["metadata"]
            metadata["labels"] = work.labels
            metadata["annotations"] = work.annotations(
                {} if one.anew else metadata.get("annotations") or {}
            )
            if one.anew:
                metadata["ownerReferences"] = [work.owner]
            obj["endpoints"], obj["ports"] = one.endpoints, list(one.ports)
            self._note(before["namespace"], before["name"], _content(obj))

        version = before["resourceVersion"]
        return await self._actions.change_judged(tenant, key_of(before), version, edit)

    async def _delete(self, tenant: Tenant, slice_: ReadOnlyObject) -> None:
        metadata = slice_["metadata"]
        self._note(metadata["namespace"], metadata["name"], None)
        await delete(self._actions, tenant, slice_)

    def _note(self, namespace: str, name: str, content: object) -> None:
        self._written[namespace, name] = content
        self._written.move_to_end((namespace, name))
        if len(self._written) > _KNOWN:
            self._written.popitem(last=False)

    def _tell(self, tenant: Tenant, work: ServiceSlices) -> None:
        """Of pods that are left out, when they are others than before."""
        why, uid = work.trouble(), work.record.uid
        if work.without_node:
            self._waiting.setdefault(tenant.id, set()).add(work.record.key.namespace)
        if why == self._told.get(uid, ""):
            return
        self._told[uid] = why
        if len(self._told) > _KNOWN:
            self._told.popitem(last=False)
        if why:
            about = regarding_of("v1", "Service", work.record)
            said = Said("Warning", "FailedToUpdateEndpointSlices", why)
            self._recorder.record(tenant, about, said)

    async def missed(self, tenant: int) -> Sequence[str]:
        found = [namespace for namespace in await self._touched.since_last(tenant) if namespace]
        self._shown.add(tenant, found)
        return found


def _content(slice_: ReadOnlyObject) -> object:
    """What somebody else may have changed."""
    metadata = slice_["metadata"]
    return orjson.dumps(
        [
            metadata.get("labels") or {},
            slice_.get("endpoints") or [],
            [*map(repr, key_of_ports(slice_.get("ports")))],
            [ref.get("uid") for ref in metadata.get("ownerReferences") or ()],
        ],
        option=orjson.OPT_SORT_KEYS,
    )
