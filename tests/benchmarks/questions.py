"""Questions about many ConfigMaps: as many as the environment variable POLYPLANE_BENCH_OBJECTS says
(`tests.benchmarks.haystack`), each beside a page of 50 in key order."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from tests.benchmarks.bench import Bench
from tests.benchmarks.client import Connection, request
from tests.benchmarks.haystack import OBJECTS, fill
from tests.benchmarks.result import Result
from tests.benchmarks.tenants import make

MAPS = "/clusters/questions-0/api/v1/configmaps"
TIMES = 40
_ASKED: dict[str, dict[str, Any]] = {
    "a count": {"count": "only"},
    "the first page by name": {"sortBy": "-.metadata.name", "limit": 50},
    "the first page by a label": {"sortBy": ".metadata.labels.app", "limit": 50},
    "a filtered page": {"filter": "self.metadata.labels.tier == 'tier-3'", "limit": 50},
}


async def questions(bench: Bench, objects: int = OBJECTS) -> list[Result]:
    """The first time of each is told apart: then the worker puts the list in order."""
    await make(bench, "questions", 1)
    fill(bench, await bench.tenant_number("questions-0"), objects)
    connection = await Connection.open(bench.site)
    await _seconds(bench, connection, {"limit": 1})  # the worker's cache is filled
    base = sorted([await _seconds(bench, connection, {"limit": 50}) for _ in range(TIMES)])
    results = []
    for name, query in _ASKED.items():
        first = await _seconds(bench, connection, query)
        times = sorted([await _seconds(bench, connection, query) for _ in range(TIMES)])
        notes = {
            "p50": f"{_at(times, 0.5):.1f} ms",
            "first": f"{first * 1000:.0f} ms",
            "objects": f"{objects:,}",
        }
        results.append(Result(f"{name} p95", _at(times, 0.95), "ms", _at(base, 0.95), notes=notes))
    connection.close()
    return results


async def _seconds(bench: Bench, connection: Connection, query: dict[str, Any]) -> float:
    data = request(bench.site, "GET", f"{MAPS}?{urlencode(query)}", None)
    began = time.perf_counter()
    await connection.expect(data)
    return time.perf_counter() - began


def _at(times: list[float], share: float) -> float:
    """Milliseconds; ``times``: sorted."""
    return times[int(len(times) * share)] * 1000
