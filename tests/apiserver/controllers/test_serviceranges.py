"""ServiceCIDRs of a tenant's own: ready, used, and not gone before their addresses are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from apiserver.controllers import serviceranges
from apiserver.controllers.actions import Actions
from apiserver.controllers.manager import Controllers
from apiserver.controllers.serviceranges import ALL, NOW
from apiserver.controllers.upkeep import TurnedOff
from apiserver.errors import ApiError, Forbidden
from apiserver.kinds.core.service_ranges import FINALIZER
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.services import ADDRESSES, RANGES, SERVICES, AddressHook, ServiceHook
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore
from tests.support.definitionworker import Worker
from tests.support.events import reasons
from tests.support.waiting import PATIENCE

CIDRS = tuple(RANGES)
TINY = "192.168.7.0/29"
"""Six addresses."""


async def off(tenant: int) -> list[str]:
    return [serviceranges.ServiceRanges.controller]


@asynccontextmanager
async def controlling(
    worker: Worker, store: PostgresStore, turned_off: TurnedOff | None = None
) -> AsyncIterator[Controllers]:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    given = () if turned_off is None else (turned_off,)
    some = Controllers(
        worker.registry, store.database, tenant_of, "test", worker.controller, *given
    )
    try:
        yield some
    finally:
        await some.stop()


def allocating(worker: Worker) -> Worker:
    worker.registry.hooks.update({SERVICES: ServiceHook(), ADDRESSES: AddressHook()})
    return worker


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    for name in ("SETTLE", "FREED", "AGAIN"):
        monkeypatch.setattr(serviceranges, name, 0.05)
    monkeypatch.setattr(serviceranges, "GRACE", timedelta(0))
    async with controlling(worker, store):
        yield allocating(worker)


def cidr(name: str, *cidrs: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}}


def service(name: str, address: str = "") -> Object:
    port = {"port": 80}
    asked = {"clusterIP": address, "clusterIPs": [address]} if address else {}
    return {"metadata": {"name": name}, "spec": {"ports": [port], **asked}}


async def condition(worker: Worker, name: str, status: str) -> Object:
    found: Object = {}

    async def there() -> bool:
        obj = await worker.get(CIDRS, name)
        conditions = (obj or {}).get("status", {}).get("conditions", [])
        found.update(*(c for c in conditions if c["type"] == "Ready"))
        return obj is not None and found.get("status") == status

    await worker.until_true(there)
    return found


async def gone(worker: Worker, *names: str) -> None:
    async def away() -> bool:
        return [n for n in names if await worker.get(CIDRS, n) is not None] == []

    await worker.until_true(away)


async def test_a_range_becomes_ready_and_keeps_its_finalizer(kept: Worker) -> None:
    await kept.create(CIDRS, cidr("a", TINY))
    found = await condition(kept, "a", "True")
    assert found["message"] == "Kubernetes Service CIDR is ready"
    obj = await kept.get(CIDRS, "a")
    assert obj is not None and obj["metadata"]["finalizers"] == [FINALIZER]
    owners = {(m["manager"], m.get("subresource", "")) for m in obj["metadata"]["managedFields"]}
    assert ("service-cidr-controller", "status") in owners


async def test_a_range_that_may_not_become_ready_is_told_of(
    kept: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refusing(*_: Any) -> None:
        raise Forbidden(RANGES, "r", "a policy says so")

    monkeypatch.setattr(Actions, "apply_status", refusing)
    await kept.create(CIDRS, cidr("r", "192.168.0.0/24"))

    async def told() -> bool:
        text = "The ServiceCIDR Status can not be set to Ready=True"
        said = ("ServiceCIDR/r", "Warning", "KubernetesServiceCIDRError", text)
        return said in await reasons(kept)

    await kept.until_true(told)


async def test_an_address_keeps_its_range_from_going(kept: Worker) -> None:
    await kept.create(CIDRS, cidr("a", TINY))
    await condition(kept, "a", "True")
    await kept.create(SERVICES, service("s", "192.168.7.3"))
    await kept.delete(CIDRS, "a")
    found = await condition(kept, "a", "False")
    assert found["reason"] == "Terminating"
    with pytest.raises(ApiError, match="does not match the current range"):
        await kept.create(SERVICES, service("late", "192.168.7.4"))
    await kept.delete(SERVICES, "s")
    await gone(kept, "a")


@pytest.mark.parametrize(
    ("others", "address", "free"),
    [
        # what contains all of 192.168.0.0/24 beside it, an address in use, whether it may go
        ([], "", True),
        ([], "192.168.0.9", False),
        ([], "10.0.7.7", True),
        ([("same", "192.168.0.0/24")], "192.168.0.9", True),
        ([("larger", "192.168.0.0/16")], "192.168.0.9", True),
        ([("part", "192.168.0.0/28")], "192.168.0.9", True),
        ([("part", "192.168.0.0/28")], "192.168.0.99", False),
        ([("halves", "192.168.0.0/25"), ("other", "192.168.0.128/25")], "192.168.0.9", True),
        ([("elsewhere", "192.168.1.0/24")], "192.168.0.9", False),
    ],
)
async def test_which_ranges_may_go(
    kept: Worker, others: list[tuple[str, str]], address: str, free: bool
) -> None:
    await kept.create(CIDRS, cidr("a", "192.168.0.0/24"))
    await condition(kept, "a", "True")
    for name, text in others:
        await kept.create(CIDRS, cidr(name, text))
    if address:
        await kept.create(SERVICES, service("s", address))
    await kept.delete(CIDRS, "a")
    await (gone(kept, "a") if free else condition(kept, "a", "False"))


async def test_two_that_contain_each_other_do_not_both_go(kept: Worker) -> None:
    for name in ("a", "b"):
        await kept.create(CIDRS, cidr(name, TINY))
        await condition(kept, name, "True")
    await kept.create(SERVICES, service("s", "192.168.7.3"))
    await asyncio.gather(*(kept.delete(CIDRS, name) for name in ("a", "b")))

    async def one_left() -> bool:
        there = [o for n in ("a", "b") if (o := await kept.get(CIDRS, n)) is not None]
        return len(there) == 1 and there[0]["status"]["conditions"][0]["status"] == "False"

    await kept.until_true(one_left)
    await kept.delete(SERVICES, "s")
    await gone(kept, "a", "b")


async def test_a_range_is_kept_from_the_first_address_on(
    worker: Worker, store: PostgresStore
) -> None:
    """However soon that comes: no look has made the range ready yet."""
    async with controlling(allocating(worker), store):
        await worker.create(CIDRS, cidr("a", TINY))
        assert "finalizers" not in (await worker.get(CIDRS, "a") or {})["metadata"]
        await worker.create(SERVICES, service("s", "192.168.7.3"))
        obj = await worker.delete(CIDRS, "a")
        assert obj["metadata"]["finalizers"] == [FINALIZER]
        assert await worker.get(CIDRS, "a") is not None


def addressed(obj: Object) -> None:
    obj["spec"] |= {"type": "ClusterIP", "clusterIP": "192.168.7.3"}
    obj["spec"]["internalTrafficPolicy"] = "Cluster"
    obj["spec"].pop("externalName", None)


@pytest.mark.parametrize("is_new", [True, False], ids=["created", "changed"])
async def test_a_range_that_goes_meanwhile_gives_no_address(
    worker: Worker, store: PostgresStore, is_new: bool
) -> None:
    """The Service was judged by a state that is no longer true when it is stored."""
    async with controlling(allocating(worker), store, off):
        await worker.create(CIDRS, cidr("a", TINY))
        if not is_new:
            external = {"type": "ExternalName", "externalName": "example.com"}
            made = {"metadata": {"name": "s"}, "spec": {**external, "ports": [{"port": 80}]}}
            await worker.create(SERVICES, made)
        hook = worker.registry.hooks[SERVICES]
        judged = hook.before_write
        first: list[Any] = []

        async def slow(*args: Any, **options: Any) -> str:
            uid = await judged(*args, **options)
            if not first:
                first.append(await worker.delete(CIDRS, "a"))
            return uid

        hook.before_write = slow  # type: ignore[method-assign]
        with pytest.raises(ApiError, match="does not match the current range"):
            if is_new:
                await worker.create(SERVICES, service("s", "192.168.7.3"))
            else:
                await worker.change(SERVICES, "s", addressed)
        left = await worker.get(SERVICES, "s")
        assert first and (left is None if is_new else left["spec"]["type"] == "ExternalName")


async def test_ranges_that_go_are_read_for_all_and_not_for_each(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of them are needed, half are not."""
    monkeypatch.setattr(serviceranges, "GRACE", timedelta(0))
    allocating(worker)
    async with controlling(worker, store, off) as some:
        for i in range(16):
            await worker.create(CIDRS, cidr(f"r{i}", f"192.168.{i}.0/29"))
        await some._ranges.look(worker.tenant, NOW)
        for i in range(16):
            if i % 2:
                await worker.create(SERVICES, service(f"s{i}", f"192.168.{i}.3"))
            await worker.delete(CIDRS, f"r{i}")
        reads: list[int] = []
        own = serviceranges.ServiceRanges._own

        async def counted(self: serviceranges.ServiceRanges, tenant: Tenant) -> Any:
            reads.append(1)
            return await own(self, tenant)

        monkeypatch.setattr(serviceranges.ServiceRanges, "_own", counted)
        await some._ranges.look(worker.tenant, ALL)
        left = [i for i in range(16) if await worker.get(CIDRS, f"r{i}") is not None]
        assert left == list(range(1, 16, 2)) and len(reads) <= 3


async def test_every_address_is_given_once_by_two_workers(
    worker: Worker, other: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen writers, two ranges of six addresses beside a default range that is full."""
    async with controlling(allocating(worker), store):
        allocating(other)
        await worker.create(CIDRS, cidr("kubernetes", "192.168.1.0/31"))
        for name, text in (("a", TINY), ("b", "192.168.8.0/29")):
            await worker.create(CIDRS, cidr(name, text))

        async def write(i: int) -> Object | None:
            try:
                made: Object = await (worker, other)[i % 2].create(SERVICES, service(f"s{i}"))
                return made
            except ApiError as e:
                assert e.code in (409, 500), e
                return None

        made = [s for s in await asyncio.gather(*(write(i) for i in range(16))) if s is not None]
        for i in range(16, 40):  # who lost too often against the others comes again
            again = await write(i)
            made += [again] if again is not None else []
        given = [s["spec"]["clusterIP"] for s in made]
        hosts = {f"192.168.{net}.{host}" for net in (7, 8) for host in range(1, 7)}
        assert len(given) == len(set(given)) and set(given) == hosts


async def test_the_sweep_finds_what_a_dead_process_left(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serviceranges, "GRACE", timedelta(0))
    allocating(worker)
    async with controlling(worker, store, off):
        made = await worker.create(CIDRS, cidr("a", TINY))
    async with controlling(worker, store) as some:
        keeper = some._ranges
        assert await keeper.missed(worker.tenant.id) == [ALL]
        assert 0 < (await keeper.look(worker.tenant, ALL) or 0) <= serviceranges.SETTLE
        assert await worker.get(CIDRS, "a") == made  # whoever made it may have more to do
        await keeper.look(worker.tenant, NOW)
        assert await keeper.missed(worker.tenant.id) == []
        await worker.create(SERVICES, service("s", "192.168.7.3"))
        await worker.delete(CIDRS, "a")
        await keeper.look(worker.tenant, ALL)
        assert (await condition(worker, "a", "False"))["reason"] == "Terminating"
        dead = Candidate(store.database, "dead", seconds=PATIENCE)
        duty = f"service-ranges/{worker.tenant.id}"
        assert await dead.elected(duty)
        assert await keeper.missed(worker.tenant.id) == [ALL]
        assert await keeper.look(worker.tenant, ALL) == serviceranges.AGAIN
        assert await Candidate(store.database, "dead", seconds=0).elected(duty), "it has run out"
    await worker.delete(SERVICES, "s")  # no process hears of it
    async with controlling(worker, store) as successor:
        await successor.sweep()
        await gone(worker, "a")
