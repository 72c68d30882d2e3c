"""The Lease in kube-system by which one sees which API servers there are (KEP-1965; kubernetes
``pkg/controlplane/controller/apiserverleasegc``).

Upstream renews it every ten seconds. Each renewal is an entry in a tenant's log, so here it comes
three times an hour, and only in tenants that are used; a Lease is good for an hour in both.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.servers import Servers
from apiserver.controllers.serviceaccounts import RESTORE
from apiserver.controllers.upkeep import Due
from apiserver.identity import server_id
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import label_value
from apiserver.meta.objects import Object
from apiserver.meta.times import format_micro_time, now
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey

LEASES = GroupResource("coordination.k8s.io", "leases")
NAMESPACE = "kube-system"
IDENTITY = {"apiserver.kubernetes.io/identity": "kube-apiserver"}
LASTS = 3600
RENEW = 1200.0
MANAGER = "kube-apiserver"
_LOOKED_AT = 500
"""Leases among which those of servers that are gone are looked for."""


class OwnLease:
    """Looks at the Lease of this machine."""

    controller = names.OWN_LEASE
    resources = frozenset({LEASES})

    def __init__(self, actions: Actions, servers: Servers) -> None:
        self._actions = actions
        self._hostname, self._name = servers.hostname, server_id(servers.hostname)
        self._holder = f"{self._name}_{uuid.uuid4()}"
        self._due = Due(RENEW)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        gone = event.type == "DELETED" and (key.namespace, key.name) == (NAMESPACE, self._name)
        return (self._name, RESTORE) if gone else None

    def used(self, tenant: int) -> Sequence[str]:
        return [self._name] if self._due.now(tenant) else []

    async def look(self, tenant: Tenant, name: str) -> float | None:
        """Another process of this machine may just have renewed it."""
        key = ObjectKey(*LEASES, NAMESPACE, name)
        if not await self._actions.ensure(tenant, key, self._lease(), MANAGER):
            present = await self._actions.get(tenant, key)
            if present is not None and _age(present) >= timedelta(seconds=0.9 * RENEW):
                await self._actions.change(tenant, key, self._renew, manager=MANAGER)
        await self._collect(tenant)
        return None

    async def _collect(self, tenant: Tenant) -> None:
        """Those of servers that have not renewed theirs."""
        looked = 0
        async for record in self._actions.each(tenant.id, LEASES, NAMESPACE):
            lease = orjson.loads(record.data)
            lasts = timedelta(seconds=(lease.get("spec") or {}).get("leaseDurationSeconds") or 0)
            ours = IDENTITY.items() <= (lease["metadata"].get("labels") or {}).items()
            if ours and record.key.name != self._name and _age(lease) > lasts:
                await self._actions.delete(tenant, record.key, record.uid)
            looked += 1
            if looked == _LOOKED_AT:
                return

    def _lease(self) -> Object:
        labels = {**IDENTITY}
        if not label_value(self._hostname):
            labels["kubernetes.io/hostname"] = self._hostname
        spec = {
            "holderIdentity": self._holder,
            "leaseDurationSeconds": LASTS,
            "renewTime": format_micro_time(now()),
        }
        metadata = {"name": self._name, "namespace": NAMESPACE, "labels": labels}
        return {"metadata": metadata, "spec": spec}

    def _renew(self, obj: Object) -> bool:
        obj["spec"] = {**(obj.get("spec") or {}), "renewTime": format_micro_time(now())}
        return True

    async def missed(self, tenant: int) -> Sequence[str]:
        return []


def _age(lease: Object) -> timedelta:
    """Since it was renewed."""
    renewed = (lease.get("spec") or {}).get("renewTime")
    return now() - datetime.fromisoformat(renewed) if renewed else timedelta.max
