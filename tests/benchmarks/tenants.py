"""Tenants: how fast they are made, and what idle ones cost a worker. ``python -m
tests.benchmarks.tenants PREFIX COUNT`` makes some and prints the seconds that it took; it is a
process of its own because Django's settings belong to the installation that is measured."""

from __future__ import annotations

import asyncio
import sys
import time

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
    from controlplane.tenancy.service import create_tenant

    began = time.perf_counter()
    for i in range(count):
        create_tenant(f"{prefix}-{i}")
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
