"""default/kubernetes names the servers that there are, and each machine has its Lease."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
import pytest_asyncio

from apiserver.controllers import manager, ownlease, ownservice
from apiserver.controllers.actions import Actions
from apiserver.controllers.manager import Controllers
from apiserver.controllers.ownlease import OwnLease
from apiserver.controllers.ownservice import OwnService
from apiserver.controllers.servers import Servers
from apiserver.identity import server_id
from apiserver.meta.objects import Object
from apiserver.meta.times import format_micro_time, now
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import seed
from apiserver.registry.services import ServiceHook
from apiserver.storage import leases
from apiserver.storage.interface import ObjectKey
from apiserver.storage.pool import Connection
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker

ADDRESS, OTHER, PORT = "198.51.100.7", "198.51.100.8", 7443
OWN = [ObjectKey(*r, "default", "kubernetes") for r in (ownservice.ENDPOINTS, ownservice.SLICES)]


@pytest_asyncio.fixture
async def seeded(worker: Worker, store: PostgresStore) -> AsyncIterator[Worker]:
    worker.registry.hooks[("", "services")] = ServiceHook()  # type: ignore[index]
    await seed(worker.registry, worker.tenant, PORT)

    async def forget(connection: Connection) -> None:
        await connection.execute("DELETE FROM leases WHERE starts_with(name, 'server/')")

    await store.database.read(forget)
    yield worker
    await store.database.read(forget)


def servers(store: PostgresStore, address: str = ADDRESS, host: str = "one") -> Servers:
    return Servers(store.database, address, PORT, host)


@asynccontextmanager
async def controllers(worker: Worker, at: Servers) -> AsyncIterator[None]:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    some = Controllers(
        worker.registry,
        at.database,
        tenant_of,
        "test",
        worker.controller,
        servers=at,
        used=lambda: [worker.tenant.id],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manager, "USE", 0.01)
        patch.setattr(ownservice, "RESTORE", 0.02)
        some.start()
        yield
    await some.stop()


async def stored(worker: Worker, key: ObjectKey) -> Object | None:
    return await Actions(worker.registry).get(worker.tenant, key)


async def addresses(worker: Worker) -> tuple[list[str], list[str]]:
    """Of Endpoints and of the slice."""
    plain, slice_ = [await stored(worker, key) or {} for key in OWN]
    subsets = plain.get("subsets") or [{}]
    return (
        [a["ip"] for a in subsets[0].get("addresses", [])],
        [a for e in slice_.get("endpoints") or [] for a in e["addresses"]],
    )


async def until(worker: Worker, *expected: str) -> None:
    async def equal() -> bool:
        return await addresses(worker) == (list(expected), list(expected))

    await worker.until_true(equal)


async def test_the_service_leads_to_this_server(seeded: Worker, store: PostgresStore) -> None:
    async with controllers(seeded, servers(store)):
        await until(seeded, ADDRESS)
    plain, slice_ = [await stored(seeded, key) or {} for key in OWN]
    https = {"name": "https", "port": PORT, "protocol": "TCP"}
    assert plain["subsets"][0]["ports"] == [https] and slice_["ports"] == [https]
    assert plain["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
    assert slice_["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    service = await stored(seeded, ObjectKey("", "services", "default", "kubernetes"))
    assert service is not None and service["spec"]["ports"][0]["targetPort"] == PORT


async def test_what_is_deleted_or_changed_comes_back(seeded: Worker, store: PostgresStore) -> None:
    actions = Actions(seeded.registry)

    def away(obj: Object) -> bool:
        obj["endpoints"] = []
        return True

    async with controllers(seeded, servers(store)):
        await until(seeded, ADDRESS)
        for key in (OWN[0], ObjectKey("", "services", "default", "kubernetes")):
            obj = await stored(seeded, key)
            assert obj is not None
            assert await actions.delete(seeded.tenant, key, obj["metadata"]["uid"])

            async def back(key: ObjectKey = key) -> bool:
                return await stored(seeded, key) is not None

            await seeded.until_true(back)
        await actions.change(seeded.tenant, OWN[1], away)
        await until(seeded, ADDRESS)


async def test_servers_know_of_each_other(seeded: Worker, store: PostgresStore) -> None:
    await servers(store, OTHER).refresh()
    async with controllers(seeded, servers(store)):
        await until(seeded, ADDRESS, OTHER)
    await leases.release(store.database, f"server/{OTHER}", OTHER)
    async with controllers(seeded, servers(store)):
        await until(seeded, ADDRESS)


async def test_what_is_right_is_not_written(seeded: Worker, store: PostgresStore) -> None:
    at = servers(store)
    await at.refresh()
    keeper = OwnService(Actions(seeded.registry), Relations(store.database), at)
    assert await keeper.missed(seeded.tenant.id) == ["kubernetes"]
    await keeper.look(seeded.tenant, "kubernetes")
    assert not await keeper.missed(seeded.tenant.id)
    before = await store.head(seeded.tenant.id)
    await keeper.look(seeded.tenant, "kubernetes")
    assert await store.head(seeded.tenant.id) == before


async def test_a_server_without_an_address_writes_none(
    seeded: Worker, store: PostgresStore
) -> None:
    at = servers(store, "")
    await at.refresh()
    keeper = OwnService(Actions(seeded.registry), Relations(store.database), at)
    await keeper.look(seeded.tenant, "kubernetes")
    assert await addresses(seeded) == ([], []) and await stored(seeded, OWN[0]) is None


def own(host: str = "one") -> ObjectKey:
    return ObjectKey(*ownlease.LEASES, "kube-system", server_id(host))


def lease_keeper(worker: Worker, store: PostgresStore, host: str = "one") -> OwnLease:
    return OwnLease(Actions(worker.registry), servers(store, host=host))


async def look(worker: Worker, keeper: OwnLease) -> None:
    for name in keeper.used(worker.tenant.id):
        await keeper.look(worker.tenant, name)


async def renewed_before(worker: Worker, seconds: float, host: str = "one") -> None:
    def edit(obj: Object) -> bool:
        moment = now() - timedelta(seconds=seconds)
        obj["spec"]["renewTime"] = format_micro_time(moment)
        return True

    await Actions(worker.registry).change(worker.tenant, own(host), edit)


async def test_a_machine_has_a_lease(seeded: Worker, store: PostgresStore) -> None:
    keeper = lease_keeper(seeded, store)
    await look(seeded, keeper)
    lease = await stored(seeded, own())
    assert lease is not None
    assert lease["metadata"]["labels"] == {
        "apiserver.kubernetes.io/identity": "kube-apiserver",
        "kubernetes.io/hostname": "one",
    }
    assert lease["spec"]["leaseDurationSeconds"] == 3600
    assert lease["spec"]["holderIdentity"].startswith(server_id("one") + "_")
    assert not keeper.used(seeded.tenant.id)


async def test_it_is_renewed_when_it_is_old(seeded: Worker, store: PostgresStore) -> None:
    """By the first of all processes of the machine."""
    await look(seeded, lease_keeper(seeded, store))
    await renewed_before(seeded, 1500)
    await look(seeded, lease_keeper(seeded, store))
    lease = await stored(seeded, own())
    assert lease is not None
    at = store.head(seeded.tenant.id)
    before = await at
    await look(seeded, lease_keeper(seeded, store))
    assert await store.head(seeded.tenant.id) == before
    assert lease["spec"]["renewTime"] > format_micro_time(now() - timedelta(seconds=1000))


async def test_those_of_gone_machines_go(seeded: Worker, store: PostgresStore) -> None:
    for host in ("one", "two", "three"):
        await look(seeded, lease_keeper(seeded, store, host))
    await renewed_before(seeded, 4000, "two")
    await look(seeded, lease_keeper(seeded, store))
    assert [await stored(seeded, own(host)) is not None for host in ("one", "two", "three")] == [
        True,
        False,
        True,
    ]
