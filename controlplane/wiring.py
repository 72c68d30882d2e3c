"""Wiring: who gets what. One Server per process, made inside its running event loop.

``apiserver`` and ``admission`` read no settings: what they need to know is handed to them here.
Only resources and features are switched before that (`controlplane.featuregates`).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
from django.conf import settings

from admission.chain import Chain
from admission.order import plugins_in_order
from admission.webhooks.call import Caller
from admission.webhooks.client import WebhookClient
from apiserver.aggregation.aggregator import Aggregator
from apiserver.audit import counts
from apiserver.audit.recorder import Recorder
from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.frontproxy import FrontProxy
from apiserver.authorizers.chain import Authority
from apiserver.authz.lastmodes import LastModes
from apiserver.controllers.aggregation import AggregationController
from apiserver.controllers.crd import DefinitionController
from apiserver.controllers.eventexpiry import TTL, EventExpiry
from apiserver.controllers.manager import Controllers, Trust
from apiserver.controllers.quotas import QuotaStatus
from apiserver.controllers.servers import Servers
from apiserver.controllers.upkeep import TurnedOff
from apiserver.endpoints.filters.authentication import identify
from apiserver.endpoints.metrics import forget, plugins_took
from apiserver.endpoints.policy_counts import PolicyCounts
from apiserver.endpoints.server import Defaults, Server
from apiserver.endpoints.webhook_counts import WebhookCounts
from apiserver.fieldmanager.manager import FieldManager
from apiserver.flow.buckets import Buckets
from apiserver.flow.shares import Shares
from apiserver.kinds.declarative.run import Gates
from apiserver.kinds.served import Resource
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry import sharding
from apiserver.registry.authorizer import TenantAuthorizer, decide
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.customfields import CustomFields
from apiserver.registry.definitionnames import DefinitionHook
from apiserver.registry.definitions import DEFINITIONS, Change
from apiserver.registry.flowcontrol import FlowControl
from apiserver.registry.managers import make_manager
from apiserver.registry.provision import Provision
from apiserver.registry.quota import Quotas
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import Seeder
from apiserver.registry.services import ADDRESSES, SERVICES, AddressHook, ServiceHook
from apiserver.request import DEFAULT_TENANT
from apiserver.search.indexer import Indexer
from apiserver.storage.auditlog import AuditLog, keep_days_forever
from apiserver.storage.compact import compact_forever
from apiserver.storage.errors import StorageError
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore
from apiserver.watch.board import BUCKETS_AT, LAST_MODES_AT, SHARES_AT, Board, shared_file
from apiserver.watch.watches import MAX_UNREAD, Watches
from controlplane import admissionfile, admissionplugins, auditing, environment
from controlplane.accounttokens import account_tokens, service_account_issuer
from controlplane.advertised import advertised_address
from controlplane.authentication import Identities
from controlplane.authorization import Chosen
from controlplane.certificates import ca_bundle, client_cas, client_certificates
from controlplane.console.endedsessions import remove_forever
from controlplane.database import conninfo
from controlplane.peers import meet
from controlplane.proxies import proxy_headers
from controlplane.tenancy.accountkeys import StoredKeys
from controlplane.tenancy.controller import TenantController
from controlplane.tenancy.directory import Directory
from controlplane.tenancy.fetching import controllers_off, fetcher, home_of, tenant_reader
from controlplane.version import GIT_VERSION
from controlplane.webhooks import webhook_client


def index_with(catalog: TenantCatalog) -> Any:
    """The watch caches' index: labels and selectable fields of a stored object."""

    sharded = features.enabled(sharding.GATE)

    def index(resource: GroupResource, data: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
        obj = orjson.loads(data)
        metadata = obj["metadata"]
        fields = {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata.get("namespace", ""),
        }
        if sharded:
            fields[sharding.UID_HASH] = sharding.hash_of(metadata.get("uid", ""))
        served = catalog.stored(resource)
        if served is None:
            return metadata.get("labels") or {}, CustomFields(fields, data)
        fields.update(served.hooks.fields(obj))
        return metadata.get("labels") or {}, fields

    return index


def managers() -> Callable[[Resource], FieldManager]:
    """Field managers live as long as their resources: those of built-in ones as long as the
    process, others as long as the definition."""

    def manager(resource: Resource) -> FieldManager:
        if resource.manager is None:
            resource.manager = make_manager(resource)
        manager: FieldManager = resource.manager
        return manager

    return manager


def signer(secret: str) -> Any:
    key = hashlib.sha256(b"polyplane signing\0" + secret.encode()).digest()
    return lambda message: hmac.new(key, message, hashlib.sha256).digest()


def max_unread() -> int:
    """Bytes that the clients of one tenant may leave unread in one process."""
    return environment.number("TENANT_MAX_UNREAD_BYTES", MAX_UNREAD, least=2**20)


def limits() -> Defaults:
    """Of tenants whose rows say nothing of them; what is set to 0 does not limit."""
    watches = environment.number("TENANT_MAX_WATCHES", Defaults().watches)
    inflight = environment.number("TENANT_MAX_INFLIGHT", Defaults().inflight)
    return Defaults(watches or sys.maxsize, inflight or sys.maxsize)


def _shared() -> int | None:
    """The file that the workers of this machine share, for all that lies in it."""
    return shared_file(environment.text("BOARD_FD"))


class _LeftAlone:
    """`Quotas` for admission, which fill in no status where the tenant has switched the quota
    controller off: it counts by itself, or does without."""

    def __init__(self, quotas: Quotas, off: TurnedOff) -> None:
        self._quotas, self._off = quotas, off
        self.charge = quotas.charge

    async def settle(self, tenant: int, quota: Object) -> None:
        if QuotaStatus.controller not in await self._off(tenant):
            await self._quotas.settle(tenant, quota)


def _chain(
    store: PostgresStore,
    catalog: TenantCatalog,
    home: int,
    client: WebhookClient,
    provision: Provision,
    shared: int | None,
) -> Chain:
    plugins = plugins_in_order(
        _LeftAlone(Quotas(store, catalog), controllers_off(store)),
        decide,
        Caller(client, WebhookCounts()),
        provision,
        admissionplugins.enabled(),
        admissionfile.read(),
        Buckets(shared, BUCKETS_AT),
        home,
        PolicyCounts(),
    )
    return Chain(plugins, plugins_took)


def make_registry(
    store: PostgresStore, catalog: TenantCatalog, home: int, audit: Recorder | None = None
) -> Registry:
    """The registry over an open store, with watches that have not been started and a catalog that
    nobody follows yet. home: the number of tenant default (`home_of`). audit: None (commands): the
    audit policy decides what of writes is kept, in the database; nothing else is kept, and nothing
    goes to files or webhooks."""
    index = index_with(catalog)
    client = webhook_client()
    provision = Provision()
    shared = _shared()
    registry = Registry(
        store=store,
        watches=Watches(store, index, board=Board.inherited(shared), max_unread=max_unread()),
        chain=_chain(store, catalog, home, client, provision, shared),
        catalog=catalog,
        manager=managers(),
        hooks={SERVICES: ServiceHook(), ADDRESSES: AddressHook(), DEFINITIONS: DefinitionHook()},
        sign=signer(settings.SECRET_KEY),
        index=index,
        gates=Gates.of(features.ENABLED),
        webhooks=client,
        audit=audit or Recorder(auditing.policy()),
    )
    provision.registry = registry
    for keeper in (registry.chain, registry.authority):
        registry.watches.when_idle(keeper.forget)
    return registry


class _Nobody:
    """Follows definitions and does nothing about them."""

    def changed(self, tenant: Tenant, changes: Sequence[Change]) -> None:
        pass


@asynccontextmanager
async def open_registry() -> AsyncIterator[tuple[Registry, TenantCatalog]]:
    """For commands: reads and writes like a server, serves nobody and runs no controllers."""
    store = PostgresStore(conninfo(settings.DATABASES["default"], application_name="polyplane"))
    await store.open()
    catalog = TenantCatalog()
    registry = make_registry(store, catalog, await home_of(store))
    Chosen(registry.authority).configure()
    await registry.watches.start()
    catalog.follow(registry.watches, _Nobody())
    try:
        yield registry, catalog
    finally:
        catalog.stop()
        await registry.watches.stop()
        await registry.webhooks.close()
        await store.close()


async def start_server() -> Server:
    """Everything that serves requests, running."""
    dsn = conninfo(settings.DATABASES["default"], application_name="polyplane")
    store = PostgresStore(dsn, hints_conninfo=settings.POLYPLANE_HINTS_DSN or dsn)
    await store.open()
    catalog = TenantCatalog()
    audit = auditing.recorder()
    audit.table = rows = _audit_rows(store)
    registry = make_registry(store, catalog, await home_of(store), audit)
    watches = registry.watches
    watches.when_idle(forget)
    await watches.start()
    holder = f"{socket.gethostname()}:{os.getpid()}"
    definitions = DefinitionController(registry, catalog, Candidate(store.database, holder))
    catalog.follow(watches, definitions)
    policy, front_proxy = registry.webhooks.policy, FrontProxy(settings.SECRET_KEY.encode())
    identities = Identities(Directory(fetcher(store)), policy, [service_account_issuer()])
    server = _server(registry, catalog, definitions, store, identities)
    server.aggregator = Aggregator(registry, policy, front_proxy)
    server.flows = _flows(watches)
    candidate = Candidate(store.database, holder)
    aggregation = AggregationController(registry, server.aggregator, candidate, catalog.used)
    trust = _trust(front_proxy, server)
    controllers = _controllers(server, store, catalog, definitions, holder, trust)
    controllers.start()
    tenancy = TenantController(registry, catalog, server.seeder, candidate)
    tenancy.start()
    server.token_used = controllers.token_uses.used
    sweeps = [_authorizers(registry.authority), *_sweeps(store, holder, server.flows)]
    await meet(server)
    parts = controllers, aggregation, tenancy, sweeps, rows, identities
    server.stop = lambda: _stop(server, candidate, *parts)
    identities.start()
    server.started = True
    return server


def _controllers(
    server: Server,
    store: PostgresStore,
    catalog: TenantCatalog,
    definitions: DefinitionController,
    holder: str,
    trust: Trust,
) -> Controllers:
    return Controllers(
        server.registry,
        store.database,
        tenant_reader(store, catalog),
        holder,
        definitions,
        turned_off=controllers_off(store),
        trust=trust,
        servers=_servers(store),
        used=server.seeder.take_used,
    )


def _authorizers(authority: Authority) -> asyncio.Task[None]:
    """Those of the settings decide from now on; what the settings name is followed."""
    chosen = Chosen(authority)
    chosen.configure()
    return asyncio.create_task(chosen.follow())


def _audit_rows(store: PostgresStore) -> AuditLog:
    return AuditLog(store.database, lambda: counts.lost("audit-table"), auditing.rows_per_second())


def _flows(watches: Watches) -> FlowControl | None:
    """None where an operator has switched priority and fairness off."""
    if not environment.flag("ENABLE_PRIORITY_AND_FAIRNESS", default=True):
        return None
    return FlowControl(watches, environment.default_workers())


def _sweeps(
    store: PostgresStore, holder: str, flows: FlowControl | None
) -> list[asyncio.Task[None]]:
    """What ends by its age: the log's past, audit entries, Events, sessions of the console; and
    what is dealt or made anew again and again: seats, the search index."""
    sweeps = [
        asyncio.create_task(Indexer(store).run_forever()),
        asyncio.create_task(compact_forever(store.database, holder)),
        asyncio.create_task(keep_days_forever(store.database, holder, auditing.retention_days())),
        asyncio.create_task(remove_forever(store.database, holder)),
    ]
    if flows is not None:
        sweeps.append(asyncio.create_task(flows.adjust_forever()))
    if ttl := environment.number("EVENT_TTL_SECONDS", TTL):
        candidate = Candidate(store.database, holder)
        expiry = EventExpiry(store, candidate, controllers_off(store), ttl)
        sweeps.append(asyncio.create_task(expiry.run_forever()))
    return sweeps


def _trust(front_proxy: FrontProxy, server: Server) -> Trust:
    clients = ClientAuthority(settings.SECRET_KEY.encode())
    return Trust(ca_bundle(), front_proxy, clients, client_cas(), server.tokens)


def _servers(store: PostgresStore) -> Servers:
    port, hostname = settings.POLYPLANE_PORT, socket.gethostname()
    return Servers(store.database, advertised_address(), port, hostname)


def _server(
    registry: Registry,
    catalog: TenantCatalog,
    definitions: DefinitionController,
    store: PostgresStore,
    identities: Identities,
) -> Server:
    """What requests are served with, by the settings."""
    shared = _shared()
    return Server(
        registry=registry,
        catalog=catalog,
        definitions=definitions,
        directory=identities.directory,
        external=identities.external,
        authorizer=TenantAuthorizer(registry),
        seeder=Seeder(registry, settings.POLYPLANE_PORT),
        git_version=GIT_VERSION,
        tokens=account_tokens(settings.SECRET_KEY, StoredKeys(fetcher(store))),
        certificates=client_certificates(settings.SECRET_KEY),
        proxy_headers=proxy_headers(),
        livez_grace=float(environment.number("LIVEZ_GRACE_SECONDS", 0)),
        anonymous_tenants=frozenset(environment.words("ANONYMOUS_TENANTS") or [DEFAULT_TENANT]),
        tenant_domain=environment.domain("TENANT_DOMAIN"),
        max_unread=max_unread(),
        defaults=limits(),
        shares=Shares(shared, SHARES_AT),
        last_modes=LastModes(shared, LAST_MODES_AT),
        flags=environment.flags(),
        audit=registry.audit,
        tells_selectors=lambda: registry.authority.looks_at_selectors,
        identify=identify,
    )


async def stop_server(server: Server) -> None:
    """Readiness fails first; then watches end, controllers stop, and writes that were begun are
    finished."""
    server.stopping = True
    await server.definitions.stop()
    server.catalog.stop()
    await server.stop()


async def _stop(
    server: Server,
    candidate: Candidate,
    controllers: Controllers,
    aggregation: AggregationController,
    tenancy: TenantController,
    sweeps: Sequence[asyncio.Task[None]],
    rows: AuditLog,
    identities: Identities,
) -> None:
    if server.peers is not None:
        await server.peers.stop()
    await tenancy.stop()
    identities.stop()
    await server.registry.watches.stop()
    await aggregation.stop()
    if server.aggregator is not None:
        server.aggregator.stop()
    await controllers.stop()
    await server.registry.webhooks.close()
    for sweep in sweeps:
        sweep.cancel()
    await asyncio.gather(*sweeps, return_exceptions=True)
    with suppress(StorageError):  # then its leases run out
        await candidate.retire()
    await rows.close()
    await asyncio.gather(*(asyncio.to_thread(s.close) for s in server.audit.sinks))
    store = server.registry.store
    assert isinstance(store, PostgresStore)
    await store.close()
