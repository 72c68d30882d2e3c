"""Each cluster IP has its IPAddress, whatever happens to either."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest
import pytest_asyncio

from apiserver.controllers import names, serviceaddresses
from apiserver.controllers.actions import Actions
from apiserver.controllers.manager import Controllers, nothing_off
from apiserver.controllers.serviceaddresses import ServiceAddresses
from apiserver.controllers.upkeep import TurnedOff
from apiserver.errors import Conflict, Invalid
from apiserver.kinds.networking.ipaddress import is_allocated
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.services import ADDRESSES, SERVICES, AddressHook, ServiceHook
from apiserver.storage.addresses import Addresses
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker


def hooked(worker: Worker) -> Worker:
    hooks = {**worker.registry.hooks, SERVICES: ServiceHook(), ADDRESSES: AddressHook()}
    worker.registry.hooks = hooks
    return worker


def controllers(worker: Worker, off: TurnedOff = nothing_off) -> Controllers:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    store = worker.registry.store
    assert isinstance(store, PostgresStore)
    return Controllers(worker.registry, store.database, tenant_of, "test", worker.controller, off)


@pytest_asyncio.fixture
async def kept(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Worker]:
    for pause in ("RESTORE", "SETTLE"):
        monkeypatch.setattr(serviceaddresses, pause, 0.02)
    some = controllers(hooked(worker))
    yield worker
    await some.stop()


def service(name: str = "s", **spec: object) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def address(name: str) -> Object:
    reference = {"resource": "gateways", "group": "example.com", "namespace": "ns", "name": "g"}
    return {"metadata": {"name": name}, "spec": {"parentRef": reference}}


async def ip_of(worker: Worker, name: str = "s") -> str:
    obj = await worker.get(SERVICES, name)
    assert obj is not None
    return str(obj["spec"]["clusterIP"])


async def gone(worker: Worker, name: str) -> None:
    async def absent() -> bool:
        return await worker.get(ADDRESSES, name) is None

    await worker.until_true(absent)


async def addresses(worker: Worker) -> dict[str, str]:
    """Names of Services by the addresses that stand for them."""
    found = {}
    async for record in Actions(worker.registry).each(worker.tenant.id, ADDRESSES):
        found[record.key.name] = orjson.loads(record.data)["spec"]["parentRef"]["name"]
    return found


async def test_it_is_there_with_the_service_and_goes_with_it(kept: Worker) -> None:
    created = await kept.create(SERVICES, service())
    ip = created["spec"]["clusterIP"]
    obj = await kept.get(ADDRESSES, ip)
    assert obj is not None
    assert obj["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    assert obj["spec"]["parentRef"] == {"resource": "services", "namespace": "ns", "name": "s"}
    await kept.delete(SERVICES, "s")
    await gone(kept, ip)


async def test_services_without_an_address_have_none(kept: Worker) -> None:
    await kept.create(SERVICES, service("headless", clusterIP="None"))
    await kept.create(SERVICES, service("external", type="ExternalName", externalName="e.com"))
    assert not await addresses(kept)


async def test_it_is_there_with_the_update_that_brings_an_address(
    kept: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serviceaddresses, "SETTLE", 3600.0)  # nobody looks later
    await kept.create(SERVICES, service(type="ExternalName", externalName="e.com"))

    def internal(obj: Object) -> None:
        obj["spec"] |= {"type": "ClusterIP", "internalTrafficPolicy": "Cluster"}
        del obj["spec"]["externalName"]

    changed = await kept.change(SERVICES, "s", internal)
    assert await addresses(kept) == {changed["spec"]["clusterIP"]: "s"}


async def test_an_address_that_is_given_up_is_free(kept: Worker) -> None:
    ip = (await kept.create(SERVICES, service()))["spec"]["clusterIP"]

    def external(obj: Object) -> None:
        obj["spec"].update(type="ExternalName", externalName="e.com", clusterIP="", clusterIPs=[])

    await kept.change(SERVICES, "s", external)
    await gone(kept, ip)


async def test_what_is_deleted_comes_back(kept: Worker) -> None:
    ip = (await kept.create(SERVICES, service()))["spec"]["clusterIP"]
    before = await kept.get(ADDRESSES, ip)
    assert before is not None
    await kept.delete(ADDRESSES, ip)

    async def another() -> bool:
        obj = await kept.get(ADDRESSES, ip)
        return obj is not None and obj["metadata"]["uid"] != before["metadata"]["uid"]

    await kept.until_true(another)


async def test_an_address_goes_from_one_service_to_the_next_at_once(kept: Worker) -> None:
    """As `kubectl replace --force` does it."""
    ip = (await kept.create(SERVICES, service()))["spec"]["clusterIP"]
    await kept.delete(SERVICES, "s")
    await kept.create(SERVICES, service("next", clusterIP=ip))

    async def next_one() -> bool:
        return await addresses(kept) == {ip: "next"}

    await kept.until_true(next_one)


async def test_an_address_that_another_look_removes_meanwhile_is_made(
    worker: Worker, store: PostgresStore
) -> None:
    class Overtaken(Actions):
        """Another look at the address comes between two steps of this one."""

        async def get(self, tenant: Tenant, key: ObjectKey) -> Object | None:
            if key.group_resource == ADDRESSES and await super().get(tenant, key) is not None:
                await worker.delete(ADDRESSES, key.name)
            return await super().get(tenant, key)

    hooked(worker)
    ip = (await worker.create(SERVICES, service()))["spec"]["clusterIP"]
    actions = Overtaken(worker.registry)
    keeper = ServiceAddresses(actions, Relations(store.database), Addresses(store.database))
    await keeper.born(worker.tenant, ObjectKey(*SERVICES, "ns", "s"), [ip])
    await worker.delete(SERVICES, "s")
    await worker.create(SERVICES, service("next", clusterIP=ip))
    await keeper.look(worker.tenant, "ns/next")
    assert await addresses(worker) == {ip: "next"}


async def test_an_address_that_somebody_has_set_aside_is_given_to_no_service(kept: Worker) -> None:
    await kept.create(ADDRESSES, address("10.0.200.7"))
    with pytest.raises(Invalid, match="provided IP is already allocated"):
        await kept.create(SERVICES, service(clusterIP="10.0.200.7"))
    obj = await kept.get(ADDRESSES, "10.0.200.7")
    assert obj is not None and not is_allocated(obj)


async def test_the_claim_decides_where_nobody_could_see_the_other(
    worker: Worker, store: PostgresStore
) -> None:
    """Without controllers no IPAddress stands for the Service: it has its address all the same."""
    hooked(worker)
    ip = (await worker.create(SERVICES, service()))["spec"]["clusterIP"]
    with pytest.raises(Conflict):
        await worker.create(ADDRESSES, address(ip))


async def test_many_writers_of_two_workers(kept: Worker, other: Worker) -> None:
    theirs = controllers(hooked(other))
    workers = [kept, other]
    created = await asyncio.gather(
        *(workers[i % 2].create(SERVICES, service(f"s{i}")) for i in range(16))
    )
    held = {c["spec"]["clusterIP"]: c["metadata"]["name"] for c in created}
    assert len(held) == 16 and await addresses(kept) == held
    await asyncio.gather(*(workers[(i + 1) % 2].delete(SERVICES, f"s{i}") for i in range(16)))

    async def none() -> bool:
        return not await addresses(kept)

    await kept.until_true(none)
    await theirs.stop()


async def test_the_sweep_finds_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    actions, relations = Actions(hooked(worker).registry), Relations(store.database)
    keeper = ServiceAddresses(actions, relations, Addresses(store.database))
    ip = (await worker.create(SERVICES, service()))["spec"]["clusterIP"]
    assert await keeper.missed(worker.tenant.id) == ["ns/s"]
    await keeper.look(worker.tenant, "ns/s")
    assert await addresses(worker) == {ip: "s"}
    await worker.create(SERVICES, service("stays"))
    await keeper.look(worker.tenant, "ns/stays")
    assert not await keeper.missed(worker.tenant.id)
    assert not await keeper.missed(worker.tenant.id)
    await worker.delete(SERVICES, "s")
    assert await keeper.missed(worker.tenant.id) == [ip]
    await keeper.look(worker.tenant, ip)
    assert list((await addresses(worker)).values()) == ["stays"]


async def test_a_service_that_goes_meanwhile_leaves_nothing(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at it and the IPAddress."""
    actions, relations = Actions(hooked(worker).registry), Relations(store.database)
    keeper = ServiceAddresses(actions, relations, Addresses(store.database))
    await worker.create(SERVICES, service())
    ensure = actions.ensure

    async def deleted_first(tenant: Tenant, key: ObjectKey, obj: Object, manager: str) -> bool:
        await worker.delete(SERVICES, "s")
        return await ensure(tenant, key, obj, manager)

    monkeypatch.setattr(actions, "ensure", deleted_first)
    await keeper.look(worker.tenant, "ns/s")
    assert not await addresses(worker)


async def test_a_tenant_may_do_without(worker: Worker) -> None:
    async def off(number: int) -> tuple[str, ...]:
        return (names.ADDRESSES,)

    some = controllers(hooked(worker), off)
    await worker.create(SERVICES, service())
    await some.stop()
    assert not await addresses(worker)
