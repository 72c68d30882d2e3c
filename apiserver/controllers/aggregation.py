"""What has to be known of the API servers behind this one before somebody asks: whether they are
there, which their APIServices say in the condition Available, and what they serve.

Each process that serves a tenant with such servers has one task for it, until nobody has used the
tenant for a while: an idle tenant's servers are not asked. Every process asks for documents itself;
the condition is written by one that holds a lease. A server is asked at once when its APIService,
its Service or its endpoints have changed, and otherwise every half minute, after failures at first
more often.
Source: k8s.io/kube-aggregator ``controllers/status/remote``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from admission.attributes import Lookup
from apiserver.aggregation.aggregator import Aggregator
from apiserver.aggregation.backends import API_SERVICES, AVAILABLE, MOST, Backend, Of
from apiserver.aggregation.fetch import fetch
from apiserver.aggregation.transport import Unreachable
from apiserver.errors import ApiError
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time
from apiserver.registry.changes import Edit
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.update import update
from apiserver.registry.write import Request
from apiserver.storage.errors import StorageError, TenantGone
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.leases import Candidate
from apiserver.user import MASTERS, User
from apiserver.watch.cache import Cache, Entries

log = logging.getLogger("polyplane.controllers")

EVERY, LEAST = 30.0, 5.0
"""Seconds between two looks at a server, and at least: after its first failure, or a change."""
DOCUMENTS = 60.0
"""Seconds between two looks at what servers serve."""
IDLE = 300.0
"""Seconds without a request for other servers' groups, or a document, after which they are left
alone."""
_TICK = 1.0
_SERVICES = GroupResource("", "services")
_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
_ENDPOINTS = GroupResource("", "endpoints")
_SERVICE_NAME = "kubernetes.io/service-name"
_USER = User("system:apiserver", groups=(MASTERS,))
_MANAGER = "kube-apiserver"
_AT_ONCE = 4
"""Servers of one tenant that are asked at a time: no other tenant waits for them."""


class Verdict(NamedTuple):
    """status: of the condition."""

    status: str
    reason: str
    message: str


_EXCESS = Verdict(
    "False", "TooManyAPIServices", f"only the first {MOST} APIServices with a service are asked"
)


@dataclass(slots=True)
class _Look:
    """at what was looked, how it was then, and when (monotonic) to look again, and when at the
    earliest."""

    state: object
    failures: int = 0
    again: float = 0.0
    earliest: float = 0.0


class AggregationController:
    """One in each worker. ``candidate``: who stands for writing conditions."""

    def __init__(
        self,
        registry: Registry,
        aggregator: Aggregator,
        candidate: Candidate,
        used: Callable[[int], Tenant | None],
    ) -> None:
        """``used``: the tenant of that number, while this process serves it."""
        self._registry, self._aggregator, self._candidate = registry, aggregator, candidate
        self._used = used
        self._tasks: dict[int, asyncio.Task[None]] = {}
        aggregator.backends.noticed = self.follow
        registry.store.observe(self._committed)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def follow(self, tenant: Tenant) -> None:
        """Harmless when repeated."""
        if tenant.id not in self._tasks:
            task = self._tasks[tenant.id] = asyncio.create_task(self._follow(tenant))
            task.add_done_callback(lambda _: self._tasks.pop(tenant.id, None))

    def _committed(self, number: int, events: Sequence[Event]) -> None:
        """This process has written these: a new APIService is looked at although nobody has asked
        for its group."""
        if any(
            e.record.key.group_resource == API_SERVICES and b'"service":{' in e.record.data
            for e in events
        ):
            tenant = self._used(number)
            if tenant is not None:
                self.follow(tenant)

    async def _follow(self, tenant: Tenant) -> None:
        looks: dict[str, _Look] = {}
        around: _Around | None = None
        asked: tuple[object, float] = (None, float("-inf"))
        began = time.monotonic()
        while True:
            try:
                backends = await self._aggregator.backends.current(tenant)
                idle = min(self._aggregator.backends.unused_for(tenant), time.monotonic() - began)
                if not backends or idle > IDLE:
                    return
                around = await _Around.of(self._registry, tenant, around)
                await self._look(tenant, backends, looks, around)
                wait = DOCUMENTS if backends is asked[0] else LEAST
                if asked[1] + wait <= time.monotonic():
                    asked = backends, time.monotonic()
                    lookup = self._registry.lookup(tenant)
                    await self._aggregator.documents.refresh(tenant, lookup, backends)
            except TenantGone:
                return
            except (StorageError, ApiError) as error:
                log.info("API servers of tenant %s wait: %s", tenant.name, error)
            except Exception:
                log.exception("API servers of tenant %s", tenant.name)
            await asyncio.sleep(_TICK)

    # --- availability -----------------------------------------------------------------------------
    async def _look(
        self, tenant: Tenant, backends: Of, looks: dict[str, _Look], around: _Around
    ) -> None:
        """Those whose turn it is."""
        now, due = time.monotonic(), []
        for backend in backends.values():
            look = looks.get(backend.name)
            state = (_spec(backend), None if backend.excess else around.state(backend))
            if look is None or (
                look.earliest <= now and (look.state != state or look.again <= now)
            ):
                due.append(backend)
                failures = look.failures if look else 0
                looks[backend.name] = _Look(state, failures, now + EVERY, now + LEAST)
        for name in looks.keys() - {b.name for b in backends.values()}:
            del looks[name]
        if not due:
            return
        if not await self._candidate.elected(f"aggregation/{tenant.id}"):
            for backend in due:  # whoever is may be gone
                looks[backend.name].again = now + self._candidate.seconds
            return
        turn = asyncio.Semaphore(_AT_ONCE)
        await asyncio.gather(*(self._check(turn, tenant, b, looks[b.name]) for b in due))

    async def _check(
        self, turn: asyncio.Semaphore, tenant: Tenant, backend: Backend, look: _Look
    ) -> None:
        async with turn:
            if backend.excess:
                await self._write(tenant, backend, _EXCESS)
                look.again = float("inf")
                return
            verdict = await judge(self._aggregator, tenant, self._registry.lookup(tenant), backend)
            await self._write(tenant, backend, verdict)
        look.failures = 0 if verdict.status == "True" else look.failures + 1
        if look.failures:
            look.again = time.monotonic() + min(LEAST * 2 ** (look.failures - 1), EVERY)

    async def _write(self, tenant: Tenant, backend: Backend, verdict: Verdict) -> None:
        resource = self._registry.catalog.find(tenant, *API_SERVICES)
        assert resource is not None, "APIServices are built in"
        served = resource.versions[resource.storage_version]
        scope = Scope(
            tenant,
            resource,
            served,
            _USER,
            name=backend.name,
            subresource="status",
            user_agent=_MANAGER,
        )

        async def edited(obj: Object) -> Object:
            if obj["metadata"].get("uid") == backend.uid:
                _set(obj, verdict, format_time(scope.now))
            return obj

        try:
            await update(self._registry, scope, Edit(edited), Request(_MANAGER))
        except ApiError as error:
            log.info("condition of %s in tenant %s: %s", backend.name, tenant.name, error.message)


class _Around(NamedTuple):
    """What backends have been seen with. slices: versions of the EndpointSlices of each Service, by
    namespace and name, as read from entries."""

    services: Cache
    endpoints: Cache
    entries: Entries
    slices: Mapping[tuple[str, str], Sequence[int]]

    @classmethod
    async def of(cls, registry: Registry, tenant: Tenant, before: _Around | None = None) -> _Around:
        """Raises StorageError."""
        services, endpoints, slices = [
            await registry.watches.cache(tenant.id, resource)
            for resource in (_SERVICES, _ENDPOINTS, _SLICES)
        ]
        entries = slices.select()
        if before is not None and before.entries is entries:
            return cls(services, endpoints, entries, before.slices)
        versions: dict[tuple[str, str], list[int]] = {}
        for entry in entries:
            if service := entry.labels.get(_SERVICE_NAME):
                versions.setdefault((entry.namespace, service), []).append(entry.resource_version)
        return cls(services, endpoints, entries, versions)

    def state(self, backend: Backend) -> object:
        """Something that differs once the backend's own Service or endpoints have changed."""
        where = backend.namespace, backend.service
        entries = (
            self.services.get(ObjectKey(*_SERVICES, *where)),
            self.endpoints.get(ObjectKey(*_ENDPOINTS, *where)),
        )
        versions = [entry and entry.resource_version for entry in entries]
        return versions, self.slices.get(where, ())


def _spec(backend: Backend) -> tuple[object, ...]:
    return (
        backend.uid,
        backend.excess,
        backend.namespace,
        backend.service,
        backend.port,
        backend.bundle,
        backend.insecure,
    )


async def judge(
    aggregator: Aggregator, tenant: Tenant, lookup: Lookup, backend: Backend
) -> Verdict:
    """Raises StorageError."""
    where = f'service/{backend.service} in "{backend.namespace}"'
    service = await lookup.get(_SERVICES, backend.namespace, backend.service)
    if service is None:
        return Verdict("False", "ServiceNotFound", f"{where} is not present")
    spec = service.get("spec") or {}
    if spec.get("type", "ClusterIP") == "ClusterIP":
        port = next((p for p in spec.get("ports") or () if p.get("port") == backend.port), None)
        if port is None:
            return Verdict(
                "False", "ServicePortError", f"{where} is not listening on port {backend.port}"
            )
        wrong = await _endpoints_wrong(lookup, backend, port.get("name") or "")
        if wrong is not None:
            return wrong
    try:
        answer = await fetch(
            aggregator.transport, tenant, lookup, backend, backend.path, "application/json"
        )
    except Unreachable as error:
        url = f"https://{backend.server_name}:{backend.port}{backend.path}"
        text = f'failing or missing response from {url}: Get "{url}": {error}'
        return Verdict("False", "FailedDiscoveryCheck", text)
    if not 200 <= answer.status < 300:
        url = f"https://{backend.server_name}:{backend.port}{backend.path}"
        text = f"failing or missing response from {url}: bad status from {url}: {answer.status}"
        return Verdict("False", "FailedDiscoveryCheck", text)
    return Verdict("True", "Passed", "all checks passed")


async def _endpoints_wrong(lookup: Lookup, backend: Backend, port_name: str) -> Verdict | None:
    """By EndpointSlices; a Service without any may have Endpoints, as nothing mirrors them here."""
    where = f'service/{backend.service} in "{backend.namespace}"'
    slices = [
        s
        for s in await lookup.list(_SLICES, backend.namespace)
        if (s["metadata"].get("labels") or {}).get(_SERVICE_NAME) == backend.service
    ]
    if not slices:
        endpoints = await lookup.get(_ENDPOINTS, backend.namespace, backend.service)
        if endpoints is not None:
            return None  # whether one is ready shows when it is called
        return Verdict("False", "EndpointsNotFound", f"cannot find endpointslices for {where}")
    for part in slices:
        ready = any(
            (e.get("conditions") or {}).get("ready") is not False
            for e in part.get("endpoints") or ()
        )
        ports = part.get("ports") or ()
        if ready and any((p.get("name") or "") == port_name and p.get("port") for p in ports):
            return None
    return Verdict(
        "False",
        "MissingEndpoints",
        f"endpointslices for {where} have no addresses with port name {go_quote(port_name)}",
    )


def _set(obj: Object, verdict: Verdict, now: str) -> None:
    """The transition's time changes with the status only."""
    status = obj.setdefault("status", {})
    conditions = status.get("conditions") or []
    old = next((c for c in conditions if c.get("type") == AVAILABLE), None)
    changed = old is None or old.get("status") != verdict.status
    condition = {
        "type": AVAILABLE,
        "status": verdict.status,
        "lastTransitionTime": now if changed or old is None else old.get("lastTransitionTime"),
        "reason": verdict.reason,
        "message": verdict.message,
    }
    others = [c for c in conditions if c.get("type") != AVAILABLE]
    status["conditions"] = [*others, condition]
