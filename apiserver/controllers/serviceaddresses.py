"""An IPAddress for each cluster IP of a Service (kubernetes ``pkg/registry/core/service/
ipallocator``, cidrallocator.go and controller/repairip.go).

Which Service has an address is decided by the claims of the write that stores it
(`apiserver.registry.services`). An IPAddress tells of it: it comes with the Service, or with the
update that gives it an address, before whoever asked for that is answered, and goes a moment after
it.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.upkeep import Unchanged
from apiserver.errors import Conflict
from apiserver.kinds.common.addresses import family
from apiserver.kinds.core.service_allocation import cluster_ips_of
from apiserver.kinds.networking.ipaddress import ALLOCATOR, FAMILY, MANAGED_BY, is_allocated
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.services import ADDRESSES, SERVICES
from apiserver.storage.addresses import Addresses
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

MANAGER = "kube-apiserver"
SETTLE = 1.0
"""Seconds until a look at a Service whose IPAddress should have come with it."""
RESTORE = 1.0
"""Seconds after which an IPAddress that was deleted comes back."""


class ServiceAddresses:
    """What it looks at is named NAMESPACE/NAME for a Service, and an address for an IPAddress."""

    controller = names.ADDRESSES
    resources = frozenset({SERVICES, ADDRESSES})

    def __init__(self, actions: Actions, relations: Relations, addresses: Addresses) -> None:
        self._actions, self._addresses = actions, addresses
        self._unchanged = [Unchanged(relations, resource) for resource in (SERVICES, ADDRESSES)]

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key, data = event.record.key, event.record.data
        if key.group_resource == ADDRESSES:
            if event.type != "DELETED" or not is_allocated(orjson.loads(data)):
                return None
            return "/".join(_parent(orjson.loads(data))), RESTORE
        held = cluster_ips_of(orjson.loads(data))
        if event.type == "DELETED":
            return (held[0], 0.0) if held else None  # there is one family of addresses
        gave_up = event.type == "MODIFIED" and b'"ExternalName"' in data
        return (f"{key.namespace}/{key.name}", SETTLE) if held or gave_up else None

    async def born(self, tenant: Tenant, key: ObjectKey, held: Sequence[str]) -> None:
        """A Service has just been stored with these addresses; a look at it follows."""
        for address in held:
            desired = ip_address(key, address)
            place = ObjectKey(*ADDRESSES, "", address)
            await self._actions.ensure(tenant, place, desired, MANAGER, absent=True)

    async def look(self, tenant: Tenant, name: str) -> float | None:
        namespace, slash, service_name = name.partition("/")
        if not slash:
            await self._look_at_address(tenant, name)
            return None
        key = ObjectKey(*SERVICES, namespace, service_name)
        held = await self._held(tenant, key)
        for address in held:
            await self._stand_for(tenant, key, address)
        if not held:
            for address in await self._addresses.before(tenant.id, namespace, service_name):
                await self._look_at_address(tenant, address)
        return None

    async def _held(self, tenant: Tenant, key: ObjectKey) -> Sequence[str]:
        record = await self._actions.registry.store.get(tenant.id, key)
        return cluster_ips_of(orjson.loads(record.data)) if record is not None else ()

    async def _stand_for(self, tenant: Tenant, service: ObjectKey, address: str) -> None:
        """Makes the Service's IPAddress. One that still stands for an earlier Service with this
        address is replaced."""
        key = ObjectKey(*ADDRESSES, "", address)
        desired = ip_address(service, address)
        for _ in range(3):
            if await self._actions.ensure(tenant, key, desired, MANAGER):
                break
            present = await self._actions.get(tenant, key)
            if present is None:  # another look has just removed it
                continue
            if present.get("spec") == desired["spec"]:
                break
            if not is_allocated(present):
                return
            await self._remove(tenant, key, present)
        if address not in await self._held(tenant, service):  # it went meanwhile
            await self._look_at_address(tenant, address)

    async def _look_at_address(self, tenant: Tenant, address: str) -> None:
        """Deletes the IPAddress if its Service no longer has the address."""
        key = ObjectKey(*ADDRESSES, "", address)
        present = await self._actions.get(tenant, key)
        if present is not None and is_allocated(present):
            service = ObjectKey(*SERVICES, *_parent(present))
            if address not in await self._held(tenant, service):
                await self._remove(tenant, key, present)

    async def _remove(self, tenant: Tenant, key: ObjectKey, present: Object) -> None:
        metadata = present["metadata"]
        item = Item(key, metadata["uid"], int(metadata["resourceVersion"]), metadata)
        try:
            await self._actions.delete_judged(tenant, item, "Background")
        except Conflict:
            return  # it is another one now, or another look comes

    async def missed(self, tenant: int) -> Sequence[str]:
        if all([await unchanged.since_last(tenant) for unchanged in self._unchanged]):
            return []
        places = await self._addresses.services_without(tenant)
        stale = await self._addresses.without_service(tenant)
        return [*(f"{namespace}/{name}" for namespace, name in places), *stale]


def ip_address(service: ObjectKey, address: str) -> Object:
    labels = {FAMILY: family(address), MANAGED_BY: ALLOCATOR}
    parent = {"resource": "services", "namespace": service.namespace, "name": service.name}
    return {"metadata": {"name": address, "labels": labels}, "spec": {"parentRef": parent}}


def _parent(obj: Object) -> tuple[str, str]:
    """Namespace and name of what an IPAddress stands for."""
    reference = (obj.get("spec") or {}).get("parentRef") or {}
    return reference.get("namespace", ""), reference.get("name", "")
