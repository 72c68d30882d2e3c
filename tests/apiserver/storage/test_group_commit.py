"""Group commit: batching must not be visible in any result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from apiserver.storage import writer
from apiserver.storage.commit import Prepared, commit
from apiserver.storage.errors import InvalidText, KeyExists, KeyMissing, Stale
from apiserver.storage.interface import Event, Write
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import CONFIGMAPS, create, delete, key, stored, update


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the batches that are committed."""
    sizes: list[int] = []

    async def counted(connection: object, tenant: int, batch: Sequence[Prepared]) -> object:
        sizes.append(len(batch))
        return await commit(connection, tenant, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "commit", counted)
    return sizes


async def test_a_lone_write_goes_alone_and_those_that_wait_go_together(
    store: PostgresStore, tenant: int, batches: list[int]
) -> None:
    await store.write(tenant, create(key("first")))
    assert batches == [1]
    versions = await asyncio.gather(
        *(store.write(tenant, create(key(f"n{i}"))) for i in range(150))
    )
    assert versions == sorted(versions), "in the order in which they were asked for"
    assert batches[1:] == [64, 64, 22]


async def test_failures_stay_with_their_writes(
    store: PostgresStore, tenant: int, batches: list[int]
) -> None:
    there = create(key("there"))
    record = stored(there, await store.write(tenant, there))
    writes: list[Write] = []
    for i in range(10):
        writes += [
            create(key(f"n{i}")),
            create(key("there")),
            delete(stored(create(key("absent")), 1)),
            update(stored(there, 1)),
        ]
    results = await asyncio.gather(
        *(store.write(tenant, w) for w in writes), return_exceptions=True
    )
    assert batches == [1, 40]
    assert all(isinstance(r, int) for r in results[0::4])
    assert all(isinstance(r, KeyExists) for r in results[1::4])
    assert all(isinstance(r, KeyMissing) for r in results[2::4])
    assert all(isinstance(r, Stale) and r.current == record.resource_version for r in results[3::4])
    names = [r.key.name for r in (await store.list(tenant, CONFIGMAPS)).records]
    assert names == sorted(["there", *(f"n{i}" for i in range(10))])


async def test_writes_to_one_key_in_one_batch_see_each_other(
    store: PostgresStore, tenant: int, batches: list[int]
) -> None:
    first, second = create(key("a"), "1"), create(key("a"), "2")
    results = await asyncio.gather(
        store.write(tenant, first), store.write(tenant, second), return_exceptions=True
    )
    assert batches == [2]
    assert isinstance(results[0], int) and isinstance(results[1], KeyExists)


async def test_text_that_jsonb_refuses_fails_alone(store: PostgresStore, tenant: int) -> None:
    half = Write(
        "create",
        key("half"),
        create(key("x")).uid,
        b'{"kind":"X","apiVersion":"v1","metadata":{},"a":"\\ud800"}',
    )
    huge = Write(
        "create",
        key("huge"),
        half.uid,
        b'{"kind":"X","apiVersion":"v1","metadata":{},"a":1e999999}',
    )
    results = await asyncio.gather(
        store.write(tenant, create(key("a"))),
        store.write(tenant, half),
        store.write(tenant, huge),
        store.write(tenant, create(key("b"))),
        return_exceptions=True,
    )
    assert [type(r) for r in results] == [int, InvalidText, InvalidText, int]


@pytest.mark.parametrize("text", [b"\\u0000", b"\\\\\\u0000", b"\x00"])
async def test_nul_is_refused_before_it_is_sent(
    store: PostgresStore, tenant: int, batches: list[int], text: bytes
) -> None:
    data = b'{"kind":"X","apiVersion":"v1","metadata":{},"a":"' + text + b'"}'
    with pytest.raises(InvalidText):
        await store.write(tenant, Write("create", key("a"), create(key("a")).uid, data))
    assert batches == []


async def test_a_key_that_is_no_text_fails_alone_and_is_never_found(
    store: PostgresStore, tenant: int
) -> None:
    for name in ("a\x00b", "a\ud800"):
        write = Write("create", key(name), create(key("a")).uid, create(key("a")).data)
        results = await asyncio.gather(
            store.write(tenant, write),
            store.write(tenant, create(key(name[0]))),
            return_exceptions=True,
        )
        assert isinstance(results[0], InvalidText) and not isinstance(results[1], InvalidText)
        assert await store.get(tenant, key(name)) is None
        assert (await store.list(tenant, CONFIGMAPS, namespace=name)).records == []


async def test_an_escaped_backslash_before_u0000_is_no_nul(
    store: PostgresStore, tenant: int
) -> None:
    data = b'{"kind":"X","apiVersion":"v1","metadata":{},"a":"\\\\u0000"}'
    await store.write(tenant, Write("create", key("a"), create(key("a")).uid, data))


async def test_large_objects_do_not_share_a_batch(
    store: PostgresStore, tenant: int, batches: list[int]
) -> None:
    await asyncio.gather(
        *(store.write(tenant, create(key(f"n{i}"), "x" * 1_500_000)) for i in range(5))
    )
    assert max(batches) <= 2 and sum(batches) == 5


async def test_a_caller_that_gives_up_does_not_disturb_the_batch(
    store: PostgresStore, tenant: int
) -> None:
    tasks = [asyncio.create_task(store.write(tenant, create(key(f"n{i}")))) for i in range(10)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(r, int) for r in results) == 9
    assert len((await store.list(tenant, CONFIGMAPS)).records) >= 9


async def test_observers_hear_of_commits_in_order_before_the_writers(
    store: PostgresStore, tenant: int
) -> None:
    heard: list[Event] = []
    store.observe(lambda number, events: heard.extend(events) if number == tenant else None)

    async def write(name: str) -> None:
        version = await store.write(tenant, create(key(name)))
        assert version in [e.record.resource_version for e in heard]

    await asyncio.gather(*(write(f"n{i}") for i in range(100)))
    page = await store.events(tenant, (await store.bounds(tenant)).floor)
    assert heard == list(page.events)


async def test_what_waits_for_a_batch_and_is_given_up_is_never_done(
    store: PostgresStore, tenant: int, batches: list[int]
) -> None:
    first, given_up, last = (
        asyncio.create_task(store.write(tenant, create(key(name)))) for name in ("a", "b", "c")
    )
    await asyncio.sleep(0)  # all three are queued, none has been sent
    given_up.cancel()
    assert all(isinstance(v, int) for v in await asyncio.gather(first, last))
    assert sum(batches) == 2
    assert [r.key.name for r in (await store.list(tenant, CONFIGMAPS)).records] == ["a", "c"]
    only = asyncio.create_task(store.write(tenant, create(key("d"))))
    await asyncio.sleep(0)
    only.cancel()
    await store.write(tenant, create(key("e")))
    assert [r.key.name for r in (await store.list(tenant, CONFIGMAPS)).records] == ["a", "c", "e"]
