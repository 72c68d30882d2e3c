"""States that writes may begin from where nobody lists or watches: bounded, followed, and no harm
when they are old."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.storage.interface import Event, Record
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import recent
from apiserver.watch.recent import Recent
from apiserver.watch.watches import Watches
from tests.support.api import TYPES, serving
from tests.support.storage import LEASES, create, delete, key, stored, update
from tests.support.waiting import until_true

MAPS = "/api/v1/namespaces/default/configmaps"


def record(name: str, version: int, size: int = 0) -> Record:
    return Record(key(name), "u", version, b"x" * size)


def test_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MOST", 3)
    monkeypatch.setattr(recent, "MOST_BYTES", 100)
    kept = Recent()
    for i, name in enumerate("abc"):
        kept.keep(1, record(name, i + 1))
    assert kept.get(1, key("a")) is not None
    kept.keep(2, record("a", 9))
    assert [kept.get(1, key(n)) is not None for n in "abc"] == [True, False, True]
    kept.keep(1, record("d", 10, 95))
    kept.keep(1, record("e", 11, 95))
    assert kept.get(1, key("d")) is None and kept.get(1, key("e")) is not None
    kept.keep(1, record("f", 12, recent.LARGEST + 1))
    assert kept.get(1, key("f")) is None


def test_what_is_kept_is_followed_and_what_is_not_stays_out() -> None:
    kept = Recent()
    kept.keep(1, record("a", 5))
    kept.follow(1, [Event("MODIFIED", record("a", 7), 6, 5), Event("ADDED", record("b", 8), 7, 0)])
    kept.follow(1, [Event("MODIFIED", record("a", 6), 5, 5)])
    kept.follow(2, [Event("MODIFIED", record("a", 9), 8, 5)])
    a = kept.get(1, key("a"))
    assert a is not None and a.resource_version == 7
    assert kept.get(1, key("b")) is None and kept.get(2, key("a")) is None
    kept.follow(1, [Event("DELETED", record("a", 10), 9, 7)])
    assert kept.get(1, key("a")) is None


def test_tenants_are_forgotten() -> None:
    kept = Recent()
    kept.keep(1, record("a", 5))
    kept.keep(2, record("a", 5))
    kept.forget(1)
    assert kept.get(1, key("a")) is None and kept.get(2, key("a")) is not None


async def test_what_another_process_commits_is_heard(
    elsewhere: PostgresStore, watches: Watches, tenant: int
) -> None:
    await watches.cache(tenant, LEASES)  # somebody uses the tenant
    made = create(key("a"))
    first = stored(made, await elsewhere.write(tenant, made))
    assert await watches.latest_known(tenant, first.key) == (first, True)
    assert await watches.latest_known(tenant, first.key) == (first, False)
    version = await elsewhere.write(tenant, update(first, "new"))

    async def heard() -> bool:
        known, _ = await watches.latest_known(tenant, first.key)
        return known is not None and known.resource_version == version

    await until_true(heard)
    last, _ = await watches.latest_known(tenant, first.key)
    assert last is not None
    await elsewhere.write(tenant, delete(last))

    async def gone() -> bool:
        return await watches.latest_known(tenant, first.key) == (None, True)

    await until_true(gone)


async def test_two_processes_write_one_object_in_turns(
    store: PostgresStore, elsewhere: PostgresStore, tenant: int
) -> None:
    async with serving(store, tenant) as here, serving(elsewhere, tenant) as there:
        for api in (here, there):
            await api.registry.watches.cache(tenant, LEASES)
        await here.ok("POST", MAPS, {"metadata": {"name": "one"}, "data": {}})
        for i in range(20):
            api = (here, there)[i % 2]
            changed: Any = {"data": {f"k{i}": "v"}}
            await api.ok("PATCH", f"{MAPS}/one", changed, TYPES["merge"])
        await asyncio.gather(
            *(
                api.ok("PATCH", f"{MAPS}/one", {"data": {f"{name}{i}": "v"}}, TYPES["merge"])
                for i in range(10)
                for name, api in (("here", here), ("there", there))
            )
        )
        _, whole = await here("GET", f"{MAPS}/one")
        assert len(whole["data"]) == 40


async def test_an_old_state_decides_nothing(store: PostgresStore, tenant: int) -> None:
    async with serving(store, tenant) as api:
        await api.registry.watches.cache(tenant, LEASES)
        _, first = await api("POST", MAPS, {"metadata": {"name": "one"}, "data": {"a": "1"}})
        old, _ = await api.registry.watches.latest_known(tenant, key("one"))
        await api.ok("PATCH", f"{MAPS}/one", {"data": {"a": "2"}}, TYPES["merge"])
        assert old is not None

        def forget_the_last() -> None:
            api.registry.watches._recent.forget(tenant)
            api.registry.watches._recent.keep(tenant, old)

        forget_the_last()
        status, answer = await api("PATCH", f"{MAPS}/one", {"data": {"a": "1"}}, TYPES["merge"])
        assert (status, answer["data"]) == (200, {"a": "1"})  # changes what is stored now
        forget_the_last()
        stale = {"metadata": {"name": "one", **_version(first)}, "data": {"a": "3"}}
        assert (await api("PUT", f"{MAPS}/one", stale))[0] == 409
        await api.ok("DELETE", f"{MAPS}/one")
        forget_the_last()
        assert (await api("PATCH", f"{MAPS}/one", {"data": {}}, TYPES["merge"]))[0] == 404


def _version(obj: Any) -> dict[str, str]:
    return {"resourceVersion": obj["metadata"]["resourceVersion"]}
