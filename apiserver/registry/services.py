"""Cluster IPs and node ports for Services: the tenant's services say what is in use
(apiserver.kinds.core.service_allocation decides)."""

from __future__ import annotations

from apiserver.errors import InternalError, Invalid
from apiserver.kinds.core import service_allocation as allocation
from apiserver.kinds.core.service_validation import cluster_ips_errors
from apiserver.kinds.networking.ipaddress import ALLOCATOR, MANAGED_BY, is_allocated
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope

SERVICES = GroupResource("", "services")
ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")


class ServiceHook:
    """apiserver.registry.core.Hook for services. The list of services is brought up to date before
    a value is picked or refused; storage gives each value to one service, whoever picks it at the
    same instant, and lets the other one start again."""

    async def before_write(
        self, registry: Registry, scope: Scope, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        errors = list(cluster_ips_errors(obj, old)) or allocation.set_ip_families(obj, old)
        if errors:
            raise Invalid(allocation.SERVICE, obj["metadata"].get("name", ""), errors)
        needs = allocation.needs(obj, old)
        if not needs.anything:
            return
        cache = await registry.watches.fresh(scope.tenant.id, SERVICES)
        services = [entry.shared for entry in cache.select()]
        used_ips = {ip for s in services for ip in allocation.cluster_ips_of(s)}
        if needs.cluster_ip is not None:
            used_ips |= await self._set_aside(registry, scope)
        used_ports = {port for s in services for port in allocation.node_ports_of(s)}
        try:
            errors = allocation.assign(obj, needs, used_ips, used_ports, dry_run=dry_run)
        except allocation.AllocationFailed as e:
            raise InternalError(str(e)) from None
        if errors:
            raise Invalid(allocation.SERVICE, obj["metadata"].get("name", ""), errors)

    async def _set_aside(self, registry: Registry, scope: Scope) -> set[str]:
        """Addresses that somebody has made IPAddresses for by hand. The tenant's caches have just
        been brought up to date."""
        cache = await registry.watches.cache(scope.tenant.id, ADDRESSES)
        return {e.name for e in cache.select() if e.labels.get(MANAGED_BY) != ALLOCATOR}

    def claims(self, obj: Object) -> tuple[str, ...]:
        ips = [f"service-ip/{ip}" for ip in allocation.cluster_ips_of(obj)]
        return (*ips, *dict.fromkeys(f"node-port/{port}" for port in allocation.node_ports_of(obj)))


class AddressHook:
    """The same for IPAddresses: one that somebody makes by hand keeps its address from Services.
    Those that stand for a Service claim nothing, because the Service does."""

    async def before_write(
        self, registry: Registry, scope: Scope, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        return None

    def claims(self, obj: Object) -> tuple[str, ...]:
        return () if is_allocated(obj) else (f"service-ip/{obj['metadata']['name']}",)
