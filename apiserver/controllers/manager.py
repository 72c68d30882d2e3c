"""The controllers of one process: what it commits itself is followed up at once; an elected process
sweeps for what was missed.

Follow-ups need no election: the process that committed a deletion is the one that knows of it
first. A process that dies leaves its follow-ups to the sweep, which finds them in the database.
Each follow-up waits a moment, so that a client that deletes an object and looks at what waits sees
it, as on a server whose controllers run elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal, NamedTuple

from admission.plugins.certificates import BUNDLES
from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.frontproxy import FrontProxy
from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.controllers import names, namespaces, rootca, serviceaccounts, serviceranges
from apiserver.controllers.accountsecrets import AccountSecrets
from apiserver.controllers.actions import Actions
from apiserver.controllers.batches import Backoff, Batches, SeenReferences
from apiserver.controllers.certificaterequests import RequestSigner
from apiserver.controllers.crd import DefinitionController
from apiserver.controllers.frontproxyca import FrontProxyAuthority
from apiserver.controllers.garbage import GarbageCollector
from apiserver.controllers.migrationrequests import MigrationRequests
from apiserver.controllers.ownership import Identity
from apiserver.controllers.ownlease import OwnLease
from apiserver.controllers.ownservice import OwnService
from apiserver.controllers.quotas import QuotaStatus
from apiserver.controllers.rootca import RootCertificate
from apiserver.controllers.roster import of_every_server
from apiserver.controllers.servers import Servers
from apiserver.controllers.serviceaccounts import NAMESPACES, DefaultAccount
from apiserver.controllers.serviceaddresses import ServiceAddresses
from apiserver.controllers.serviceranges import ServiceRanges
from apiserver.controllers.servingtrust import ServingTrust
from apiserver.controllers.tokenuses import TokenUses
from apiserver.controllers.turns import turns
from apiserver.controllers.upkeep import Keeper, TurnedOff, Upkeep
from apiserver.errors import ApiError
from apiserver.kinds.core.service_allocation import cluster_ips_of
from apiserver.meta import features
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.quota import Quotas
from apiserver.registry.scope import NO_TENANT, Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.addresses import Addresses
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import Event, ObjectKey, Record
from apiserver.storage.leases import Candidate
from apiserver.storage.pool import Database
from apiserver.storage.relations import Found, Relations

log = logging.getLogger("polyplane.controllers")

SETTLE = 1.0  # seconds between a deletion and its follow-up
AGAIN = 2.0  # seconds until the next look at something that still waits
USE = 2.0  # seconds between two looks at which tenants are in use
SWEEP = 30.0  # seconds between sweeps
FIRST_SWEEP = 1.0
"""Seconds after the start: what the processes before left is not waited for."""
STANDS = 5.0
"""Seconds between two looks at whose duty the sweep is, a third of the time that it stays a dead
process's (`Candidate.seconds`)."""
LEASE = "controllers"

WITH_NAMESPACE = 2.0
"""Seconds that a request waits at most for what every namespace has."""
NEW = timedelta(seconds=10)
"""The age of a namespace that may lack it; an older one lacks what somebody has deleted."""
IN_EVERY_NAMESPACE = (
    (serviceaccounts.ACCOUNTS, serviceaccounts.NAME, DefaultAccount.controller),
    (rootca.CONFIG_MAPS, rootca.NAME, RootCertificate.controller),
)

Duty = Literal["gone", "owned", "marked"]
"""Objects of a tenant are gone; some have owners that nobody has looked at; one is marked for
deletion."""

_ANY = ObjectKey("", "", "", "")

TenantOf = Callable[[int], Awaitable[Tenant | None]]


class Trust(NamedTuple):
    """Whom certificates come from. ca_bundle: verifies this server's, in PEM; front_proxy: what
    tenants' own API servers know this one by, None where there are none; client_authority: signs
    client certificates, None where nobody does; client_cas: the installation's authorities of
    client certificates, in PEM; tokens: issues those of service accounts."""

    ca_bundle: str = ""
    front_proxy: FrontProxy | None = None
    client_authority: ClientAuthority | None = None
    client_cas: str = ""
    tokens: AccountTokens | None = None


NO_TRUST = Trust()


async def nothing_off(tenant: int) -> Sequence[str]:
    """Every tenant has all controllers."""
    return ()


class Controllers:
    def __init__(
        self,
        registry: Registry,
        database: Database,
        tenant_of: TenantOf,
        holder: str,
        definitions: DefinitionController,
        turned_off: TurnedOff = nothing_off,
        trust: Trust = NO_TRUST,
        servers: Servers | None = None,
        used: Callable[[], Collection[int]] = tuple,
    ) -> None:
        """holder: names this process in elections; definitions: sees to
        CustomResourceDefinitions; servers: where this one and others are; used: the tenants that
        requests have come for since the last call."""
        self._tenant_of = tenant_of
        self._definitions, self._servers = definitions, servers
        self._relations, self._database = Relations(database), database
        self._actions = Actions(registry)
        addresses = Addresses(database)
        self._candidate = candidate = Candidate(database, holder)
        self._addresses = ServiceAddresses(self._actions, self._relations, addresses)
        self._ranges = ServiceRanges(self._actions, self._relations, addresses, candidate)
        self._garbage = GarbageCollector(self._actions, self._relations)
        self._tasks: dict[tuple[int, ObjectKey, str, Duty], asyncio.Task[None]] = {}
        self._gone, self._owned = Batches[Identity](), Batches[None]()
        self._references, self._unresolved = SeenReferences(), Backoff(SWEEP)
        self._turns = turns()
        self._collecting: dict[int, asyncio.Task[None]] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._sweeping: asyncio.Task[None] | None = None
        self._next_sweep = 0.0
        self._stopped = False
        self._turned_off, self._used = turned_off, used
        self.token_uses = TokenUses(self._actions)
        self._migrations = MigrationRequests(
            self._actions, self._relations, definitions.catalog, candidate
        )
        self._upkeep = Upkeep(self._keepers(registry, trust), tenant_of, turned_off)
        self._offer(registry)

    def _offer(self, registry: Registry) -> None:
        """What writes tell the controllers, and ask of them."""
        registry.store.observe(self._committed)
        registry.store.observe(self._upkeep.committed)
        registry.recount = partial(self._upkeep.enqueue, names.QUOTA)
        for resource, own_name, controller in IN_EVERY_NAMESPACE:
            registry.supplies[resource, own_name] = partial(self._supply, controller)
        registry.followers[SERVICES] = self._service_addressed
        registry.protect_ranges = self._protect_ranges

    def _keepers(self, registry: Registry, trust: Trust) -> list[Keeper]:
        keepers = [
            *of_every_server(self._actions, self._relations, self._database),
            RootCertificate(self._actions, self._relations, trust.ca_bundle),
            AccountSecrets(self._actions, self._relations, trust.tokens, trust.ca_bundle),
            self._addresses,
            self._ranges,
            QuotaStatus(Quotas(registry.store, registry.catalog), self._relations),
        ]
        if features.enabled("StorageVersionMigrator"):
            keepers.append(self._migrations)
        common, clients = (self._actions, self._relations), trust.client_authority
        if trust.ca_bundle and registry.catalog.find(NO_TENANT, *BUNDLES) is not None:
            keepers.append(ServingTrust(*common, trust.ca_bundle))
        if clients is not None:
            keepers.append(RequestSigner(*common, clients))
        if (front := trust.front_proxy) is not None:
            keepers.append(FrontProxyAuthority(*common, front, clients, trust.client_cas))
        if (servers := self._servers) is not None:
            keepers.append(OwnService(*common, servers))
            keepers.append(OwnLease(self._actions, servers))
        return keepers

    def start(self) -> None:
        self._loops = [
            asyncio.create_task(self._sweep_forever()),
            asyncio.create_task(self._follow_use()),
        ]

    async def stop(self) -> None:
        self._stopped = True
        tasks = [*self._tasks.values(), *self._collecting.values(), *self._loops]
        if self._sweeping is not None:
            tasks.append(self._sweeping)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._upkeep.stop()
        await self._actions.beside.stop()
        await self._migrations.stop()
        await self.token_uses.stop()

    async def _supply(self, controller: str, tenant: Tenant, name: str) -> None:
        """So a pod that is created right after its namespace is not refused. What does not come in
        time, or fails, is followed up as any other event."""

        async def supply() -> None:
            namespace = await self._actions.get(tenant, ObjectKey(*NAMESPACES, "", name))
            if namespace is not None and _age(namespace) < NEW:
                await self._upkeep.at_once(tenant, controller, name)

        await self._soon(supply())

    async def _soon(self, work: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(WITH_NAMESPACE):
                await work
        except (ApiError, StorageError, TimeoutError) as e:
            log.info("a new object is not complete yet: %s", e)
        except Exception:
            log.exception("a new object is not complete yet")

    async def _service_addressed(self, tenant: Tenant, key: ObjectKey, service: Object) -> None:
        """So whoever gives a Service an address finds its IPAddress; else that comes a moment
        later."""

        async def born() -> None:
            if names.ADDRESSES not in await self._turned_off(tenant.id):
                await self._addresses.born(tenant, key, cluster_ips_of(service))

        await self._soon(born())

    async def _protect_ranges(self, tenant: Tenant) -> None:
        await self._soon(self._upkeep.at_once(tenant, names.SERVICE_RANGES, serviceranges.NOW))

    # --- follow-ups -------------------------------------------------------------------------------
    def _committed(self, tenant: int, events: Sequence[Event]) -> None:
        for event in events:
            data = event.record.data
            key = event.record.key
            if event.type == "DELETED":
                self._gone.add(tenant, event.record.uid, _identity(event.record))
                self._later(tenant, _ANY, "", "gone")
            elif event.type == "MODIFIED" and b'"deletionTimestamp":"' in data:
                self._later(tenant, key, event.record.uid, "marked")
            elif self._references.new(event.record):
                self._owned.add(tenant, event.record.uid, None)
                self._later(tenant, _ANY, "", "owned")

    def _later(self, tenant: int, key: ObjectKey, uid: str, duty: Duty) -> None:
        name = (tenant, key, uid, duty)
        if name not in self._tasks:
            task = self._tasks[name] = asyncio.create_task(self._follow_up(tenant, key, uid, duty))
            task.add_done_callback(lambda _: self._ended(name))

    def _ended(self, name: tuple[int, ObjectKey, str, Duty]) -> None:
        self._tasks.pop(name, None)
        tenant, _, _, duty = name
        if duty == "gone" or duty == "owned":
            batches = self._gone if duty == "gone" else self._owned
            batches.give_up(tenant)  # asked often enough: the sweep goes on
            if batches.waits(tenant) and not self._stopped:
                self._later(tenant, _ANY, "", duty)

    async def _follow_up(self, tenant_id: int, key: ObjectKey, uid: str, duty: Duty) -> None:
        await asyncio.sleep(SETTLE)
        for _ in range(30):
            async with self._turns.of(tenant_id):
                try:
                    tenant = await self._tenant_of(tenant_id)
                    if tenant is None or await self._once(tenant, key, uid, duty):
                        return
                except (ApiError, StorageError) as e:
                    log.info("follow-up of %s/%s waits: %s", key.resource, key.name, e)
                except Exception:
                    log.exception("follow-up of %s/%s failed", key.resource, key.name)
                    return
            await asyncio.sleep(AGAIN)

    async def _once(self, tenant: Tenant, key: ObjectKey, uid: str, duty: Duty) -> bool:
        off = await self._turned_off(tenant.id)
        if key.group_resource == NAMESPACES and duty == "marked":
            emptied = names.NAMESPACE in off or await namespaces.finish(
                self._actions, self._relations, tenant, key
            )
            return emptied and (names.GARBAGE in off or await self._garbage.marked(tenant, key))
        if key.group_resource != DEFINITIONS and names.GARBAGE in off:
            self._gone.take(tenant.id, 0.0)
            self._owned.take(tenant.id, 0.0)
            return True
        if duty == "gone":
            return await self._owners_gone(tenant)
        if duty == "owned":
            return await self._owners_seen(tenant)
        if key.group_resource == DEFINITIONS:
            self._definitions.look(tenant, key.name)
            return True
        return await self._garbage.marked(tenant, key)

    async def _owners_gone(self, tenant: Tenant) -> bool:
        """One question for all that went a moment ago: most of it owned nothing. Later ones get a
        moment of their own (`_ended`)."""
        gone = self._gone.take(tenant.id, 0.9 * SETTLE)
        done = False
        try:
            done = not gone or not (await self._garbage.owners_gone(tenant, gone)).failed
        finally:
            if not done:
                self._gone.retry(tenant.id, gone)
        return done

    async def _owners_seen(self, tenant: Tenant) -> bool:
        """Looks at objects whose owner references are new: owners may be absent, or not be what a
        reference says."""
        owned = self._owned.take(tenant.id, 0.9 * SETTLE)
        left = set(owned)
        try:
            left = (await self._garbage.collect(tenant, list(owned))).failed
        finally:
            if left:
                self._owned.retry(tenant.id, dict.fromkeys(left))
        return not left

    async def _follow_use(self) -> None:
        while True:
            await asyncio.sleep(USE)
            try:
                if self._servers is not None:
                    await self._servers.refresh()
            except StorageError as e:
                log.info("where other servers are is not known: %s", e)
            self._upkeep.used(self._used())

    # --- sweep ------------------------------------------------------------------------------------
    async def _sweep_forever(self) -> None:
        """The lease is renewed beside the sweep, which may take longer than it lasts. Whoever gets
        it sweeps at once: another one may have died."""
        pause = FIRST_SWEEP
        while True:
            await asyncio.sleep(pause)
            pause = STANDS
            try:
                if not await self._candidate.elected(LEASE):
                    self._next_sweep = 0.0
                elif self._sweeping is None and time.monotonic() >= self._next_sweep:
                    self._sweeping = asyncio.create_task(self._sweep_once())
            except StorageError as e:
                log.info("whose the sweep is: %s", e)

    async def _sweep_once(self) -> None:
        try:
            await self.sweep()
        except StorageError as e:
            log.info("the sweep waits: %s", e)
        except Exception:
            log.exception("the sweep failed")
        finally:
            self._next_sweep, self._sweeping = time.monotonic() + SWEEP, None

    async def sweep(self) -> None:
        """Finds what was missed, in all tenants."""
        async for key in pages(self._relations.waiting):
            self._later(key.tenant, key.key, key.uid, "marked")
        seen: set[str] = set()
        orphans: dict[int, list[str]] = {}
        async for orphan in pages(self._relations.orphaned):
            seen.add(orphan.uid)
            orphans.setdefault(orphan.tenant, []).append(orphan.uid)
        self._unresolved.keep(seen)
        await self._collect_all(orphans)
        await self._upkeep.sweep(await self._relations.heads())

    async def _collect_all(self, orphans: dict[int, list[str]]) -> None:
        """Waits a while for all of them; a tenant whose webhooks keep it waiting goes on beside the
        next sweep."""
        for tenant_id, uids in orphans.items():
            if tenant_id not in self._collecting:
                task = asyncio.create_task(self._collect(tenant_id, self._unresolved.ready(uids)))
                self._collecting[tenant_id] = task
        if self._collecting:
            done, _ = await asyncio.wait(self._collecting.values(), timeout=SWEEP)
            self._collecting = {t: task for t, task in self._collecting.items() if task not in done}
            for task in done:
                await task

    async def _collect(self, tenant_id: int, orphans: Sequence[str]) -> None:
        tenant = await self._tenant_of(tenant_id) if orphans else None
        if tenant is not None and names.GARBAGE not in await self._turned_off(tenant_id):
            outcome = await self._garbage.collect(tenant, orphans)
            self._unresolved.failed(outcome.stuck)


def _identity(record: Record) -> Identity:
    """The kind is the first thing that is stored of an object (`apiserver.storage.interface`)."""
    kind = record.data.split(b'"', 4)[3].decode()
    return Identity(record.key.group, kind, record.key.namespace, record.key.name)


async def pages(read: Callable[[Found | None], Awaitable[Sequence[Found]]]) -> AsyncIterator[Found]:
    """All that ``read`` finds, page by page; the argument is the last of the page before."""
    last: Found | None = None
    while page := await read(last):
        for item in page:
            yield item
        last = page[-1]


def _age(obj: Object) -> timedelta:
    created = datetime.fromisoformat(obj["metadata"]["creationTimestamp"])
    return datetime.now(UTC) - created
