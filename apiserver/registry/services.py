"""Cluster IPs and node ports for Services: the tenant's services say what is in use
(apiserver.kinds.core.service_allocation decides)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.errors import InternalError, Invalid
from apiserver.kinds.core import service_allocation as allocation
from apiserver.kinds.core.service_allocation import Requests
from apiserver.kinds.core.service_ranges import Range, range_of, ready_ranges
from apiserver.kinds.core.service_validation import cluster_ips_errors
from apiserver.kinds.formats import parse_ip
from apiserver.kinds.networking.ipaddress import ALLOCATOR, MANAGED_BY, is_allocated
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, copy_json
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope
from apiserver.watch.cache import Cache

SERVICES = GroupResource("", "services")
ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")
RANGES = GroupResource("networking.k8s.io", "servicecidrs")


class ServiceHook:
    """apiserver.registry.core.Hook for services. The list of services is brought up to date before
    a value is refused, and before another try when one was taken meanwhile: storage gives each
    value to one service, and lets the other one start again. A Service that gets an address, new or
    not, is stored only if the ServiceCIDR that it comes from is still there and not being
    deleted."""

    async def before_write(
        self, registry: Registry, scope: Scope, obj: Object, old: Object | None, *, dry_run: bool
    ) -> str:
        errors = list(cluster_ips_errors(obj, old)) or allocation.set_ip_families(obj, old)
        if errors:
            raise Invalid(allocation.SERVICE, obj["metadata"].get("name", ""), errors)
        needs = allocation.needs(obj, old)
        if not needs.anything:
            return ""
        tenant, trial = scope.tenant.id, copy_json(obj)
        try:
            cache = await registry.watches.cache(tenant, SERVICES)
            needed = await self._allocate(registry, scope, trial, needs, cache, dry_run)
        except (Invalid, InternalError):  # by a state that may be a moment old
            cache = await registry.watches.fresh(tenant, SERVICES)
            return await self._allocate(registry, scope, obj, needs, cache, dry_run)
        obj["spec"] = trial["spec"]
        return needed

    async def _allocate(
        self,
        registry: Registry,
        scope: Scope,
        obj: Object,
        needs: Requests,
        cache: Cache,
        dry_run: bool,
    ) -> str:
        """In place. Raises Invalid, InternalError."""
        services = [entry.shared for entry in cache.select()]
        used_ips = {ip for s in services for ip in allocation.cluster_ips_of(s)}
        ranges: Sequence[Range] = ()
        if needs.cluster_ip is not None:
            used_ips |= await self._set_aside(registry, scope)
            ranges = await self._ranges(registry, scope)
        used_ports = {port for s in services for port in allocation.node_ports_of(s)}
        try:
            errors = allocation.assign(
                obj, needs, used_ips, used_ports, ranges=ranges, dry_run=dry_run
            )
        except allocation.AllocationFailed as e:
            raise InternalError(str(e)) from None
        if errors:
            raise Invalid(allocation.SERVICE, obj["metadata"].get("name", ""), errors)
        if dry_run or needs.cluster_ip is None:
            return ""
        return await self._taken_from(registry, scope, range_of(ranges, obj["spec"]["clusterIP"]))

    async def _taken_from(self, registry: Registry, scope: Scope, taken: Range | None) -> str:
        """The uid of the ServiceCIDR, which cannot go any more when this returns."""
        if taken is not None and not taken.protected:
            await registry.protect_ranges(scope.tenant)
        return taken.uid if taken is not None else ""

    async def _ranges(self, registry: Registry, scope: Scope) -> Sequence[Range]:
        """As new as the list of services."""
        cache = await registry.watches.cache(scope.tenant.id, RANGES)
        return ready_ranges(entry.shared for entry in cache.select())

    async def _set_aside(self, registry: Registry, scope: Scope) -> set[str]:
        """Addresses that somebody has made IPAddresses for by hand, likewise."""
        cache = await registry.watches.cache(scope.tenant.id, ADDRESSES)
        return {e.name for e in cache.select() if e.labels.get(MANAGED_BY) != ALLOCATOR}

    def claims(self, obj: Object) -> tuple[str, ...]:
        ips = [f"service-ip/{parse_ip(ip) or ip}" for ip in allocation.cluster_ips_of(obj)]
        return (*ips, *dict.fromkeys(f"node-port/{port}" for port in allocation.node_ports_of(obj)))


class AddressHook:
    """The same for IPAddresses: one that somebody makes by hand keeps its address from Services.
    Those that stand for a Service claim nothing, because the Service does."""

    async def before_write(
        self, registry: Registry, scope: Scope, obj: Object, old: Object | None, *, dry_run: bool
    ) -> str:
        return ""

    def claims(self, obj: Object) -> tuple[str, ...]:
        return () if is_allocated(obj) else (f"service-ip/{obj['metadata']['name']}",)
