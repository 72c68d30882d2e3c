"""Endpoints of Services that select pods (kubernetes ``pkg/controller/endpoint``): what was before
EndpointSlices, of the Service's first family of addresses.

The Services of a namespace are looked at together, as by `apiserver.controllers.endpointslices`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.ownservice import ENDPOINTS
from apiserver.controllers.podendpoints import TRIGGER, Pod, earliest, is_headless
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
from apiserver.controllers.slicing import HEADLESS
from apiserver.controllers.subsets import MOST, count, equal, of_service, repack, truncate
from apiserver.controllers.upkeep import Rest, Shown
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import Event, ObjectKey, Record
from apiserver.storage.pool import Database
from apiserver.storage.touched import WITHOUT_ENDPOINTS, Touched

MANAGED_BY, CONTROLLER = "endpoints.kubernetes.io/managed-by", "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


class ServiceEndpoints:
    """Looks at the Services of a namespace by its name, and by NAMESPACE/NAME at the Endpoints of
    a Service that is gone."""

    controller = names.ENDPOINTS
    resources = frozenset({SERVICES, PODS, ENDPOINTS})

    def __init__(self, actions: Actions, database: Database) -> None:
        self._actions = actions
        self._touched = Touched(database, [SERVICES, PODS, ENDPOINTS], WITHOUT_ENDPOINTS)
        self._rest = Rest(SHARE, CHEAP)
        self._shown = Shown()

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if key.group_resource == SERVICES and event.type == "DELETED":
            return f"{key.namespace}/{key.name}", 0.0
        if key.group_resource != ENDPOINTS:
            return (key.namespace, SETTLE) if matters(event) else None
        return (key.namespace, RESTORE) if event.type == "DELETED" else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        namespace, slash, of = name.partition("/")
        if slash:
            await self._orphaned(tenant, namespace, of)
            return None
        if self._shown.take(tenant.id, name):
            await self._left_over(tenant, name)
        elif not await may_select(self._actions, tenant, name):
            return None
        return await self._rest.around(tenant.id, name, lambda: self.settle(tenant, name))

    async def settle(self, tenant: Tenant, namespace: str) -> float | None:
        """The seconds until the next look, should nothing happen before."""
        services = await selecting(self._actions, tenant, namespace)
        if not services:
            return None
        there = {r.key.name: r async for r in self._actions.each(tenant.id, ENDPOINTS, namespace)}
        pods = await pods_in(self._actions, tenant, namespace)
        again = False
        with each_its_turn() as turn:
            for record, service in services:
                await asyncio.sleep(0)  # many pods take their time
                stored = there.get(record.key.name)
                with turn():
                    again |= not await self._one(tenant, stored, service, pods.of(service))
        return AGAIN if again else None

    async def _one(
        self, tenant: Tenant, stored: Record | None, service: Object, pods: Sequence[Pod]
    ) -> bool:
        """stored: the Service's Endpoints. False where somebody else has written meanwhile."""
        metadata = service["metadata"]
        key = ObjectKey(*ENDPOINTS, metadata["namespace"], metadata["name"])
        present = orjson.loads(stored.data) if stored is not None else None
        whole = of_service(service, pods)
        if present is not None and _is_right(present, service, whole):
            return True
        subsets, is_cut = truncate(whole)
        changed = _changed(present, pods)

        def edit(obj: Object) -> None:
            _write(obj, service, subsets, is_cut, changed)

        if stored is None:
            obj: Object = {"metadata": {"name": key.name, "namespace": key.namespace}}
            edit(obj)
            made = await self._actions.ensure(tenant, key, obj, absent=True)
            return made or await self._actions.get(tenant, key) is None
        return await self._actions.change_judged(tenant, key, str(stored.resource_version), edit)

    async def _orphaned(self, tenant: Tenant, namespace: str, name: str) -> None:
        """Endpoints go with their Service, whoever wrote them."""
        store = self._actions.registry.store
        if await store.get(tenant.id, ObjectKey(*SERVICES, namespace, name)) is not None:
            return
        key = ObjectKey(*ENDPOINTS, namespace, name)
        record = await store.get(tenant.id, key)
        if record is not None:
            metadata = orjson.loads(record.data)["metadata"]
            item = Item(key, record.uid, record.resource_version, metadata)
            await self._actions.delete_judged(tenant, item, "Background")

    async def _left_over(self, tenant: Tenant, namespace: str) -> None:
        """Those that this controller has written, whose Service a dead process saw go."""
        async for record in self._actions.each(tenant.id, ENDPOINTS, namespace):
            labels = orjson.loads(record.data)["metadata"].get("labels") or {}
            if labels.get(MANAGED_BY) == CONTROLLER:
                await self._orphaned(tenant, namespace, record.key.name)

    async def missed(self, tenant: int) -> Sequence[str]:
        found = [namespace for namespace in await self._touched.since_last(tenant) if namespace]
        self._shown.add(tenant, found)
        return found


def _is_right(present: ReadOnlyObject, service: ReadOnlyObject, whole: Sequence[Object]) -> bool:
    metadata, subsets = present["metadata"], present.get("subsets") or []
    marked = OVER_CAPACITY in (metadata.get("annotations") or {})
    if count(whole) > MOST:  # upstream writes these at every look
        cut, _ = truncate(whole)
        return marked and equal(subsets, cut) and _labelled(metadata, service)
    return not marked and equal(subsets, whole) and _labelled(metadata, service)


def _labelled(metadata: ReadOnlyObject, service: ReadOnlyObject) -> bool:
    """Whether the Service is headless may have changed: that is written with something else."""
    labels: Mapping[str, str] = metadata.get("labels") or {}
    wanted: Mapping[str, str] = service["metadata"].get("labels") or {}
    return labels.get(MANAGED_BY) == CONTROLLER and _own(labels) == _own(wanted)


def _own(labels: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in labels.items() if k not in (HEADLESS, MANAGED_BY)}


def _write(
    obj: Object, service: ReadOnlyObject, subsets: list[Object], is_cut: bool, changed: str | None
) -> None:
    metadata: dict[str, Any] = obj["metadata"]
    labels = _own(service["metadata"].get("labels") or {})
    if is_headless(service):
        labels[HEADLESS] = ""
    metadata["labels"] = {**labels, MANAGED_BY: CONTROLLER}
    told = metadata.get("annotations") or {}
    told = {k: v for k, v in told.items() if k not in (TRIGGER, OVER_CAPACITY)}
    when = service["metadata"].get("creationTimestamp", "") if changed is None else changed
    if when:
        told[TRIGGER] = when
    if is_cut:
        told[OVER_CAPACITY] = "truncated"
    metadata["annotations"] = told
    obj["subsets"] = subsets


def _changed(present: ReadOnlyObject | None, pods: Sequence[Pod]) -> str | None:
    """When the first of the pods changed that are new here, or are ready otherwise than before;
    None where nothing was there."""
    if present is None:
        return None
    before: dict[str, bool] = {}
    for subset in repack(present.get("subsets") or ()):
        for member, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(member) or ():
                before[(address.get("targetRef") or {}).get("uid") or ""] = ready
    return earliest([pod.ready_since for pod in pods if before.get(pod.uid) != pod.ready])
