"""The Service default/kubernetes with its Endpoints and EndpointSlice: where clients inside a
cluster look for its API server (kubernetes ``pkg/controlplane/controller/kubernetesservice``,
``pkg/controlplane/reconcilers``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.servers import Servers
from apiserver.controllers.serviceaccounts import RESTORE
from apiserver.controllers.upkeep import Due
from apiserver.kinds.bootstrap import api_service
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

ENDPOINTS = GroupResource("", "endpoints")
SLICES = GroupResource("discovery.k8s.io", "endpointslices")
NAMESPACE, NAME = "default", "kubernetes"
MANAGER = "kube-apiserver"
_KEYS = [ObjectKey(*resource, NAMESPACE, NAME) for resource in (SERVICES, ENDPOINTS, SLICES)]


class OwnService:
    """Looks at the three at once. The Service is made where it is missing, and then left as it is;
    the other two always have the servers that there are."""

    controller = names.OWN_SERVICE
    resources = frozenset({SERVICES, ENDPOINTS, SLICES})

    def __init__(self, actions: Actions, relations: Relations, servers: Servers) -> None:
        self._actions, self._relations, self._servers = actions, relations, servers
        self._due, self._addresses = Due(), servers.addresses

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if (key.namespace, key.name) != (NAMESPACE, NAME) or event.type == "ADDED":
            return None
        if key.group_resource == SERVICES and event.type == "MODIFIED":
            return None
        return NAME, RESTORE

    def used(self, tenant: int) -> Sequence[str]:
        if self._addresses != self._servers.addresses:
            self._addresses = self._servers.addresses
            self._due.anew()
        return [NAME] if self._due.now(tenant) else []

    async def look(self, tenant: Tenant, name: str) -> float | None:
        addresses, port = self._servers.addresses, self._servers.port
        await self._actions.ensure(tenant, _KEYS[0], api_service(port), MANAGER)
        if addresses:
            await self._restore(tenant, _KEYS[1], endpoints(addresses, port))
            await self._restore(tenant, _KEYS[2], endpoint_slice(addresses, port))
        self._due.done(tenant.id)
        return None

    async def _restore(self, tenant: Tenant, key: ObjectKey, desired: Object) -> None:
        if await self._actions.ensure(tenant, key, desired, MANAGER):
            return

        def edit(obj: Object) -> bool:
            obj["metadata"]["labels"] = dict(desired["metadata"]["labels"])
            for member in desired.keys() - {"metadata", "addressType"}:
                obj[member] = desired[member]
            return True

        await self._actions.change(tenant, key, edit, manager=MANAGER)

    async def missed(self, tenant: int) -> Sequence[str]:
        """The name where some of these objects are there and others are not; nothing where none is:
        seeding, which makes them, is still to come."""
        present = await self._relations.named(tenant, _KEYS)
        expected = len(_KEYS) if self._servers.addresses else 1
        return [NAME] if present and len(present) < expected else []


def endpoints(addresses: Sequence[str], port: int) -> Object:
    subset = {
        "addresses": [{"ip": address} for address in addresses],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": labels}
    return {"metadata": metadata, "subsets": [subset]}


def endpoint_slice(addresses: Sequence[str], port: int) -> Object:
    labels = {"kubernetes.io/service-name": NAME}
    return {
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [a], "conditions": {"ready": True}} for a in addresses],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
