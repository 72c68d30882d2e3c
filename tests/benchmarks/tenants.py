"""Tenants: how fast they are made, and what idle ones cost a worker. ``python -m
tests.benchmarks.tenants PREFIX COUNT`` makes some and prints the seconds that it took; it is a
process of its own because Django's settings belong to the installation that is measured."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.benchmarks.bench import Bench
from tests.benchmarks.inserts import insert
from tests.benchmarks.processes import memory
from tests.benchmarks.result import Measure, Result
from tests.support.installation import REPOSITORY


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


async def declared(bench: Bench, count: int = 1000) -> list[Result]:
    """Tenant objects: until all that were posted are Ready, and until all that were deleted are
    gone."""
    await bench.send("GET", _TENANTS)
    began = time.perf_counter()
    posting = asyncio.Semaphore(8)

    async def post(number: int) -> None:
        metadata = {"name": f"declared-{number}", "labels": {"bench": "declared"}}
        async with posting:
            await bench.send("POST", _TENANTS, json.dumps({**_KIND, "metadata": metadata}).encode())

    await asyncio.gather(*(post(number) for number in range(count)))
    await _until(bench, lambda items: len(items) == count and all(map(_is_ready, items)))
    made = time.perf_counter() - began
    began = time.perf_counter()
    await bench.send("DELETE", _SELECTED)
    await _until(bench, lambda items: not items)
    deleted = time.perf_counter() - began
    notes = {"deleted": f"{count / deleted:.0f}/s"}
    return [Result("Tenant objects made", count / made, "tenants/s", notes=notes)]


_TENANTS = "/apis/tenancy.polyplane.dev/v1/tenants"
_SELECTED = f"{_TENANTS}?labelSelector=bench%3Ddeclared"
_KIND = {"apiVersion": "tenancy.polyplane.dev/v1", "kind": "Tenant"}


async def _until(bench: Bench, holds: Callable[[list[Any]], bool]) -> None:
    while not holds(json.loads(await bench.send("GET", _SELECTED))["items"]):  # noqa: ASYNC110
        await asyncio.sleep(0.1)


def _is_ready(tenant: dict[str, Any]) -> bool:
    conditions = (tenant.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


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
    import os

    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings"
    django.setup()
    from controlplane.tenancy.service import create_tenants

    began = time.perf_counter()
    create_tenants([f"{prefix}-{i}" for i in range(count)])
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
