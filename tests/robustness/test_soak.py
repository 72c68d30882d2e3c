"""12 writers over 4 tenants through 2 processes, with tail readers: nothing missed, reordered or
doubled. Takes 8 s, or POLYPLANE_SOAK_SECONDS. The mutant is the same run without the tenant lock,
and must be caught."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from apiserver.watch.subscription import Subscription
from apiserver.watch.watches import Watches
from tests.support.storage import CONFIGMAPS, index, numbers
from tests.support.tails import Verdict, follow, judge
from tests.support.waiting import until
from tests.support.watch import Label

SECONDS = float(os.environ.get("POLYPLANE_SOAK_SECONDS", "8"))
LEAST = 100
"""Writes of a process to a tenant, however slow the machine is."""
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def four(postgres: str) -> Iterator[list[int]]:
    made = [next(numbers) for _ in range(4)]
    for tenant in made:
        tenants.create(tenant)
    yield made
    for tenant in made:
        tenants.drop(tenant)


async def _write(conninfo: str, four: list[int], seconds: float, seed: int) -> dict[int, list[Any]]:
    """One process with 6 of the writers."""
    order = {
        "conninfo": conninfo,
        "tenants": four[seed:] + four[:seed],
        "writers": 6,
        "seconds": seconds,
        "least": LEAST,
        "seed": seed,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.support.writer",
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate(json.dumps(order).encode())
    assert process.returncode == 0
    return {int(tenant): done for tenant, done in json.loads(out).items()}


async def _soak(conninfo: str, reading: str, four: list[int], seconds: float) -> Verdict:
    store = PostgresStore(reading, size=1)
    await store.open()
    starts = {tenant: await store.head(tenant) for tenant in four}
    await store.close()
    stop = asyncio.Event()
    tails = {tenant: asyncio.create_task(follow(reading, tenant, stop)) for tenant in four}
    acknowledged = await asyncio.gather(*(_write(conninfo, four, seconds, seed) for seed in (0, 2)))
    stop.set()
    verdict = Verdict()
    for tenant in four:
        told = [entry for process in acknowledged for entry in process[tenant]]
        await judge(reading, tenant, starts[tenant], await tails[tenant], told, verdict)
    return verdict


class Mirror:
    """A client as informers are: it lists by a watch, follows it, and knows at the end what there
    is."""

    def __init__(self, subscription: Subscription) -> None:
        self.state: dict[str, bytes] = {}
        self.last = 0
        self.subscription = subscription
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            for event in await self.subscription.next():
                if self.subscription.synced:
                    assert event.resource_version > self.last, "later events come later"
                    self.last = event.resource_version
                name = event.entry.name
                assert (name in self.state) == (event.type != "ADDED"), f"{event.type} of {name}"
                if event.type == "DELETED":
                    del self.state[name]
                else:
                    self.state[name] = event.entry.json


async def _mirrors(watches: Watches, tenant: int) -> list[tuple[Label | None, Mirror]]:
    selectors = [None, Label("app", "x"), Label("app", "y")]
    return [
        (s, Mirror(await watches.subscribe(tenant, CONFIGMAPS, after=None, predicate=s)))
        for s in selectors
    ]


async def test_nothing_is_missed_reordered_or_doubled(
    store: PostgresStore, postgres: str, owner: str, four: list[int]
) -> None:
    watches = Watches(store, index)
    await watches.start()
    mirrors = {tenant: await _mirrors(watches, tenant) for tenant in four}
    verdict = await _soak(postgres, owner, four, SECONDS)
    print(verdict)
    assert verdict.clean, verdict
    assert verdict.events >= 2 * len(four) * LEAST
    for tenant in four:
        cache = await watches.fresh(tenant, CONFIGMAPS)
        fresh = await store.list(tenant, CONFIGMAPS)
        assert cache.resource_version == fresh.at
        assert [e.json for e in cache.select()] == [r.json for r in fresh.records]
        for selector, mirror in mirrors[tenant]:
            await until(
                lambda mirror=mirror, at=fresh.at: (
                    mirror.task.done() or mirror.subscription.position() >= at
                )
            )
            assert not mirror.task.done(), mirror.task.exception()
            mirror.task.cancel()
            expected = {r.key.name: r.json for r in fresh.records}
            if selector is not None:
                expected = {n: j for n, j in expected.items() if selector(*index(CONFIGMAPS, j))}
            assert mirror.state == expected
    await watches.stop()


def _slowed(conninfo: str, schema: str, *, lock: bool) -> str:
    """A connection string under which pp_commit pauses between drawing versions and publishing
    them, as a busy machine would make it; without ``lock`` it also lacks the line that takes the
    tenant's lock."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        row = connection.execute(
            "SELECT pg_get_functiondef('public.pp_commit'::regproc)"
        ).fetchone()
        assert row is not None
        lines = (
            str(row[0])
            .replace("FUNCTION public.pp_commit", f"FUNCTION {schema}.pp_commit")
            .split("\n")
        )
        locks = [line for line in lines if "pg_advisory_xact_lock" in line]
        publishes = [line for line in lines if "UPDATE tenant_heads" in line]
        assert len(locks) == len(publishes) == 1
        text = "\n".join(line for line in lines if lock or line not in locks)
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        connection.execute(
            text.replace(publishes[0], "PERFORM pg_sleep(random() * 0.01);\n" + publishes[0])
        )
    return make_conninfo(conninfo, options=f"-csearch_path={schema},public")


async def test_without_the_tenant_lock_readers_miss_events(owner: str, four: list[int]) -> None:
    mutant = _slowed(owner, "mutant", lock=False)
    verdict = Verdict()
    for _ in range(5):
        verdict = await _soak(mutant, owner, four, 2)
        if verdict.missed:
            break
    print(verdict)
    assert verdict.missed, f"the checker sees nothing: {verdict}"


async def test_the_pause_alone_does_no_harm(owner: str, four: list[int]) -> None:
    """The control of the test above: what it catches is the lock's absence."""
    verdict = await _soak(_slowed(owner, "slowed", lock=True), owner, four, 2)
    print(verdict)
    assert verdict.events and verdict.clean, verdict
