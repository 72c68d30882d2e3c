"""Memory of a worker that holds 10,000 small objects."""

from __future__ import annotations

from tests.benchmarks.bench import Bench
from tests.benchmarks.processes import memory
from tests.benchmarks.result import Result


async def cached(bench: Bench, count: int = 10_000) -> list[Result]:
    await bench.on_every_worker("/clusters/demo/api/v1/namespaces")
    await bench.fill("cached", count, "demo")
    before = {pid: memory(pid) for pid in bench.worker_pids()}
    await bench.on_every_worker("/clusters/demo/api/v1/namespaces/cached/configmaps?limit=1")
    after = {pid: memory(pid) for pid in before}
    grown = max(after[pid] - before[pid] for pid in before)
    notes = {"grown by": f"{grown / 2**20:.1f} MB", "an object": f"{grown / count:,.0f} bytes"}
    return [
        Result(
            f"worker with {count:,} cached objects", max(after.values()) / 2**20, "MB", notes=notes
        )
    ]
