"""Which of a tenant's groups and versions another server serves, read from its APIServices.

A group and version that this server serves itself, built in or by a definition, is never another
server's, so that only requests for what would not be found look here. The APIServices come from the
tenant's watch cache; they are read again when that has changed.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.objects import ReadOnlyObject
from apiserver.registry.core import Registry
from apiserver.registry.scope import Tenant

API_SERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
AVAILABLE = "Available"
MOST = 100
"""Backends of one tenant, the first ones by name, since each is asked again and again. Those beyond
count as not available."""
MOST_BUNDLE = 64 * 1024
"""Bytes of PEM: contexts are kept for each of them."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One APIService with a Service. name: of the APIService; bundle: PEM, b"" for the system's
    authorities, None for more than MOST_BUNDLE; available: what its condition says; excess: it is
    one too many."""

    name: str
    uid: str
    group: str
    version: str
    namespace: str
    service: str
    port: int
    bundle: bytes | None
    insecure: bool
    available: bool
    group_priority: int
    version_priority: int
    excess: bool = False

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def server_name(self) -> str:
        """Whom the server's certificate must be for."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def path(self) -> str:
        """Of its resources; every server must have a document there."""
        return f"/apis/{self.group}/{self.version}"


def read(obj: ReadOnlyObject) -> Backend | None:
    """None for an APIService without a service, and for the legacy group: /api is this server's."""
    spec: Mapping[str, Any] = obj.get("spec") or {}
    service = spec.get("service")
    if service is None or not spec.get("group"):
        return None
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return Backend(
        name=obj["metadata"]["name"],
        uid=obj["metadata"].get("uid", ""),
        group=spec["group"],
        version=spec.get("version", ""),
        namespace=service.get("namespace", ""),
        service=service.get("name", ""),
        port=service.get("port") or 443,
        bundle=_bundle(spec.get("caBundle") or ""),
        insecure=bool(spec.get("insecureSkipTLSVerify")),
        available=any(c.get("type") == AVAILABLE and c.get("status") == "True" for c in conditions),
        group_priority=spec.get("groupPriorityMinimum", 0),
        version_priority=spec.get("versionPriority", 0),
    )


def _bundle(encoded: str) -> bytes | None:
    if len(encoded) > MOST_BUNDLE * 4 // 3:
        return None
    try:
        return base64.b64decode(encoded)
    except binascii.Error:
        return b"?"  # no certificate: the connection will say so


Of = Mapping[GroupVersion, Backend]


@dataclass(slots=True)
class _Known:
    """entries: the cache's selection that the backends were read from; used: monotonic time."""

    entries: object = None
    backends: Of = field(default_factory=dict)
    used: float = 0.0


class Backends:
    """Of one process. Tenants whose caches are dropped are forgotten."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._tenants: dict[int, _Known] = {}
        self.noticed: Callable[[Tenant], None] = lambda tenant: None
        """Called with a tenant that has backends, whenever a request asks for them."""
        registry.watches.when_idle(self._forget)

    async def of(self, tenant: Tenant, *, fresh: bool = False) -> Of:
        """For a request; ``fresh``: not older than the call. Raises StorageError."""
        watches = self._registry.watches
        if fresh:
            await watches.fresh(tenant.id, API_SERVICES)
        backends = await self.current(tenant)
        if backends:
            self._tenants[tenant.id].used = time.monotonic()
            self.noticed(tenant)
        return backends

    async def current(self, tenant: Tenant) -> Of:
        """As of(), for whoever follows them: does not count as use. Raises StorageError."""
        entries = (await self._registry.watches.cache(tenant.id, API_SERVICES)).select()
        kept = self._tenants.setdefault(tenant.id, _Known())
        if entries is not kept.entries:
            backends = [backend for e in entries if (backend := read(e.shared)) is not None]
            backends.sort(key=lambda backend: backend.name)
            backends[MOST:] = [replace(b, available=False, excess=True) for b in backends[MOST:]]
            kept.entries = entries
            kept.backends = {b.group_version: b for b in reversed(backends)}
        return kept.backends

    def _forget(self, tenant: int) -> None:
        self._tenants.pop(tenant, None)

    def unused_for(self, tenant: Tenant) -> float:
        """Seconds since a request asked."""
        kept = self._tenants.get(tenant.id)
        return time.monotonic() - kept.used if kept is not None else float("inf")

    def local(self, tenant: Tenant) -> set[GroupVersion]:
        """What this server serves itself."""
        return {
            GroupVersion(resource.group, version)
            for resource in self._registry.catalog.all(tenant)
            for version, served in resource.versions.items()
            if served.served
        }
