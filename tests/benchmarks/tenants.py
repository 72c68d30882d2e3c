"""Tenants: how fast they are made, and what idle ones cost a worker. ``python -m
tests.benchmarks.tenants PREFIX COUNT`` makes some and prints the seconds that it took; it is a
process of its own because Django's settings belong to the installation that is measured."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from urllib.parse import quote

import psycopg

from tests.benchmarks.bench import Bench
from tests.benchmarks.inserts import insert
from tests.benchmarks.processes import memory
from tests.benchmarks.result import Measure, Result
from tests.support.installation import REPOSITORY

THERE = int(os.environ.get("POLYPLANE_BENCH_TENANTS", "1000"))


async def create(bench: Bench) -> list[Result]:
    count = max(int(100 * bench.seconds), 5)
    seconds = await make(bench, "made", count)
    rows, took = await insert(bench.conninfo, 1, bench.seconds / 2, 100)
    return [
        Result.of("tenants created", "tenants/s", Measure(count / seconds), Measure(rows / took))
    ]


async def idle(bench: Bench, count: int = 1000) -> list[Result]:
    """Memory before and after, with two seconds for whatever looks around once a second."""
    await bench.on_every_worker("/version")
    before = {pid: memory(pid) for pid in bench.worker_pids()}
    await make(bench, "idle", count)
    await bench.on_every_worker("/clusters/idle-0/version")
    await asyncio.sleep(2)
    after = {pid: memory(pid) for pid in before}
    grown = max(after[pid] - before[pid] for pid in before)
    largest = max(after.values())
    return [
        Result(
            f"worker with {count:,} idle tenants",
            largest / 2**20,
            "MB",
            notes={"grown by": f"{grown / 2**20:.1f} MB"},
        )
    ]


async def declared(bench: Bench, there: int = THERE) -> list[Result]:
    """Tenant objects, ``there`` of them and as many again as a tenth: until all that were posted
    are Ready, and until all that were deleted are gone, with what the workers then hold."""
    await bench.on_every_worker("/version")
    await bench.send("GET", _TENANTS)
    before = _memory(bench)
    await _declare(bench, range(there))
    full = _memory(bench)
    more = max(there // 10, 20)
    seconds = await _declare(bench, range(there, there + more))
    began = time.perf_counter()
    await _at_once(bench, "DELETE", [(f"/declared-{i}", None) for i in range(there + more)])
    await _until(bench, 0)
    deleted = time.perf_counter() - began
    await asyncio.sleep(10)  # what is looked after every few seconds
    notes = {
        "deleted": f"{(there + more) / deleted:.0f}/s",
        "left": f"{_left(bench)} rows",
        "workers": f"{before:.0f} MB before, {full:.0f} with all, {_memory(bench):.0f} after",
    }
    rows, took = await insert(bench.conninfo, 8, bench.seconds / 2, 600)
    name = f"Tenant objects made with {there:,} there"
    return [Result(name, more / seconds, "tenants/s", rows / took, notes=notes)]


async def _declare(bench: Bench, numbers: range) -> float:
    """Seconds until all are Ready. They have a label of their own, so that to ask for them takes
    little of what is measured."""
    began = time.perf_counter()
    labels = {"bench": "declared", "from": str(numbers.start)}
    bodies = [{**_KIND, "metadata": {"name": f"declared-{i}", "labels": labels}} for i in numbers]
    await _at_once(bench, "POST", [("", json.dumps(body).encode()) for body in bodies])
    await _until(bench, len(numbers), f"%2Cfrom%3D{numbers.start}")
    return time.perf_counter() - began


async def _at_once(bench: Bench, method: str, asked: list[tuple[str, bytes | None]]) -> None:
    """(path below the collection, body) of each; eight at a time."""
    places = asyncio.Semaphore(8)

    async def send(path: str, body: bytes | None) -> None:
        async with places:
            await bench.send(method, _TENANTS + path, body)

    for first in range(0, len(asked), 1000):
        await asyncio.gather(*(send(*one) for one in asked[first : first + 1000]))
        bench.say(f"{method}: {min(first + 1000, len(asked)):,} tenants")


def _memory(bench: Bench) -> float:
    """MB, of all workers."""
    return sum(map(memory, bench.worker_pids())) / 2**20


def _left(bench: Bench) -> int:
    """Objects and versions of tenants that are none any more."""
    with psycopg.connect(bench.conninfo) as connection:
        connection.execute("SELECT set_config('polyplane.tenant', 'all', true)")
        rows = connection.execute(_LEFT).fetchone()
    return int(rows[0]) if rows else 0


_LEFT = """
SELECT count(*) FROM (SELECT tenant_id FROM objects UNION ALL SELECT tenant_id FROM events) kept
WHERE tenant_id NOT IN (SELECT id FROM tenancy_tenant)
"""
_TENANTS = "/apis/tenancy.polyplane.dev/v1/tenants"
_SELECTED = f"{_TENANTS}?labelSelector=bench%3Ddeclared"
_NOT_READY = "&filter=" + quote(
    "!has(self.status) || !has(self.status.conditions) ||"
    " !self.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"
)
_KIND = {"apiVersion": "tenancy.polyplane.dev/v1", "kind": "Tenant"}


async def _until(bench: Bench, count: int, labels: str = "") -> None:
    """Until that many are there, all Ready. labels: more of the selector."""
    while True:
        there = await _count(bench, labels)
        if there == count and (not count or await _count(bench, labels + _NOT_READY) == 0):
            return
        await asyncio.sleep(0.2)


async def _count(bench: Bench, narrowed: str = "") -> int:
    answer = json.loads(await bench.send("GET", f"{_SELECTED}{narrowed}&count=only"))
    return int(answer["metadata"].get("remainingItemCount", 0))


async def make(bench: Bench, prefix: str, count: int) -> float:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.benchmarks.tenants",
        prefix,
        str(count),
        cwd=REPOSITORY,
        env=bench.installation.env,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("tenants could not be made")
    return float(out)


def main(prefix: str, count: int) -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings"
    django.setup()
    from controlplane.tenancy.service import create_tenants

    began = time.perf_counter()
    create_tenants([f"{prefix}-{i}" for i in range(count)])
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
