"""State at any version at or above the floor is exact, before and after compaction, whole or in
pages: compared with a model."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.storage import tenants
from apiserver.storage.compact import compact
from apiserver.storage.errors import Compacted, TooLarge
from apiserver.storage.interface import Record
from apiserver.storage.postgres import PostgresStore
from tests.support import storage as support
from tests.support.model import Model
from tests.support.storage import CONFIGMAPS, LEASES, create, delete, key, stored, update

_KEYS = [
    key(n, ns, r)
    for r in (CONFIGMAPS, LEASES)
    for ns in ("a", "a-b", "b")
    for n in ("x", "x-y", "x.y")
]
_STEPS = st.lists(
    st.tuples(st.integers(0, len(_KEYS) - 1), st.sampled_from(["put", "put", "delete", "compact"])),
    min_size=1,
    max_size=25,
)


async def _play(
    store: PostgresStore, tenant: int, model: Model, steps: list[tuple[int, str]]
) -> None:
    for number, step in steps:
        old: Record | None = model.now.get(_KEYS[number])
        if step == "compact":
            versions = [v for v, _ in model.states]
            await compact(store.database, tenant, versions[len(versions) * number // len(_KEYS)])
        elif step == "delete" and old is not None:
            model.remove(old.key, await store.write(tenant, delete(old)))
        else:
            write = update(old, f"{old.resource_version}") if old else create(_KEYS[number])
            model.put(stored(write, await store.write(tenant, write)))


async def _paged(
    store: PostgresStore, tenant: int, resource: object, namespace: str, at: int, limit: int
) -> list[Record]:
    found: list[Record] = []
    after = None
    while True:
        page = await store.list(
            tenant, resource, namespace=namespace, at=at, after=after, limit=limit
        )  # type: ignore[arg-type]
        found += page.records
        if not page.more:
            assert page.remaining == 0
            return found
        assert len(page.records) == limit and page.remaining > 0
        after = (found[-1].key.namespace, found[-1].key.name)


async def _compare(store: PostgresStore, tenant: int, model: Model) -> None:
    floor, head = (await store.bounds(tenant)).floor, await store.head(tenant)
    assert head == model.states[-1][0]
    for version in range(model.states[0][0] - 1, head + 2):
        if version < 1:
            continue
        if not floor <= version <= head:
            with pytest.raises(Compacted if version < floor else TooLarge):
                await store.list(tenant, CONFIGMAPS, at=version)
            continue
        for resource in (CONFIGMAPS, LEASES):
            page = await store.list(tenant, resource, at=version)
            assert list(page.records) == model.list(version, resource)
            assert (page.at, page.more, page.remaining) == (version, False, 0)
        assert list(
            (await store.list(tenant, CONFIGMAPS, namespace="a", at=version)).records
        ) == model.list(version, CONFIGMAPS, "a")
        assert await _paged(store, tenant, CONFIGMAPS, "", version, 2) == model.list(
            version, CONFIGMAPS
        )
    for resource in (CONFIGMAPS, LEASES):
        page = await store.list(tenant, resource)
        assert (page.at, list(page.records)) == (head, model.list(head, resource))
        batches = [batch async for batch in store.snapshot(tenant, resource)]
        assert {at for at, _ in batches} == {head}
        assert [r for _, records in batches for r in records] == model.list(head, resource)
    for k in _KEYS:
        assert await store.get(tenant, k) == model.now.get(k)


async def _replay(store: PostgresStore, tenant: int, model: Model) -> None:
    """From every version on, the log leads from that state to the present one; what each event
    replaced is known."""
    floor, head = (await store.bounds(tenant)).floor, await store.head(tenant)
    for start in range(floor, head + 1):
        state = dict(model.at(start))
        after = start
        while after < head:
            page = await store.events(tenant, after, with_old=True, limit=3)
            for event in page.events:
                record = event.record
                assert event.old == state.get(record.key)
                assert event.key_previous == (event.old.resource_version if event.old else 0)
                assert event.type == (
                    "DELETED"
                    if record.key not in model.at(record.resource_version)
                    else "MODIFIED"
                    if event.old
                    else "ADDED"
                )
                if event.type == "DELETED":
                    del state[record.key]
                else:
                    state[record.key] = record
            after = page.through
        assert state == model.now
        alone = await store.events(tenant, start, resource=LEASES)
        assert [
            e
            for e in (await store.events(tenant, start)).events
            if e.record.key.group_resource == LEASES
        ] == list(alone.events)
        assert alone.through == head
    if floor > 1:
        with pytest.raises(Compacted):
            await store.events(tenant, floor - 1)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=_STEPS)
def test_every_readable_version_is_exact(
    runner: asyncio.Runner, shared_store: PostgresStore, steps: list[tuple[int, str]]
) -> None:
    tenant = next(support.numbers)
    tenants.create(tenant)
    try:
        model = Model([(runner.run(shared_store.head(tenant)), {})])
        runner.run(_play(shared_store, tenant, model, steps))
        runner.run(_compare(shared_store, tenant, model))
        runner.run(_replay(shared_store, tenant, model))
    finally:
        tenants.drop(tenant)
