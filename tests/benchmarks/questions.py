"""Questions about the many ConfigMaps of `tests.benchmarks.haystack`, each beside a page of 50 in
key order; and how many objects there are of all kinds, beside PostgreSQL that counts them. All have
been indexed for searches, so that the workers do nothing else meanwhile."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any
from urllib.parse import urlencode

import psycopg

from apiserver.search.fieldindexer import follow
from apiserver.storage.postgres import PostgresStore
from tests.benchmarks.bench import Bench
from tests.benchmarks.client import Connection, request
from tests.benchmarks.haystack import OBJECTS, TENANT, prepare
from tests.benchmarks.result import Result

MAPS = f"/clusters/{TENANT}/api/v1/configmaps"
TIMES = 40
_ASKED: dict[str, dict[str, Any]] = {
    "a count": {"count": "only"},
    "the first page by name": {"sortBy": "-.metadata.name", "limit": 50},
    "the first page by creation": {"sortBy": "-.metadata.creationTimestamp", "limit": 50},
    "the first page by a label": {"sortBy": ".metadata.labels.app", "limit": 50},
    "a filtered page": {"filter": "self.metadata.labels.tier == 'tier-3'", "limit": 50},
    "a page by a declared field": {"fieldSelector": "metadata.labels.app=app-7", "limit": 50},
    "a count by a declared field": {
        "filter": "self.metadata.labels.app == 'app-7'",
        "count": "only",
    },
}
_GROUP = f"/clusters/{TENANT}/apis/search.polyplane.dev/v1"
INDEXES, COUNTS = f"{_GROUP}/fieldindexes", f"{_GROUP}/objectcounts"
_COUNT = """
SELECT api_group, resource, count(*) FROM objects WHERE tenant_id = %s GROUP BY 1, 2
"""
_INDEX = {
    "metadata": {"name": "apps"},
    "spec": {"resource": "configmaps", "path": "metadata.labels.app"},
}


async def questions(bench: Bench, objects: int = OBJECTS) -> list[Result]:
    """The first time of each is told apart: then the worker puts the list in order."""
    await prepare(bench, objects)
    tenant = await bench.tenant_number(TENANT)
    await bench.send("POST", INDEXES, json.dumps(_INDEX).encode())
    indexing = await _indexed(bench, tenant)
    connection = await Connection.open(bench.site)  # now: one that is idle for long is closed
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
        if "declared" in name:
            notes["indexing"] = f"{indexing / objects * 1e6:.0f} µs for an object"
        results.append(Result(f"{name} p95", _at(times, 0.95), "ms", _at(base, 0.95), notes=notes))
    results.append(await _all_kinds(bench, connection, tenant, objects))
    connection.close()
    return results


async def _all_kinds(bench: Bench, connection: Connection, tenant: int, objects: int) -> Result:
    store = PostgresStore(bench.conninfo)
    await store.open()
    began = time.perf_counter()
    while not await store.tallies.follow(tenant, 20):
        bench.say("counting")
    counting = time.perf_counter() - began
    await store.close()
    data, times = request(bench.site, "POST", COUNTS, b"{}"), []
    for _ in range(TIMES):
        began = time.perf_counter()
        answer = json.loads(await connection.expect(data))
        times.append(time.perf_counter() - began)
    found = {one["resource"]: one["count"] for one in answer["status"]["counts"]}
    if found["configmaps"] < objects:
        raise RuntimeError(f"{found['configmaps']:,} of {objects:,} were counted")
    times.sort()
    notes = {
        "p50": f"{_at(times, 0.5):.1f} ms",
        "kinds": len(found),
        "objects": f"{objects:,}",
        "counting": f"{counting:.1f} s",
    }
    base = _counted(bench, tenant)
    return Result("counts of all kinds p95", _at(times, 0.95), "ms", base, notes=notes)


def _counted(bench: Bench, tenant: int) -> float:
    """Milliseconds in which PostgreSQL counts all objects by their kinds; the best of three."""
    times = []
    with psycopg.connect(bench.conninfo, autocommit=True) as connection:
        for _ in range(3):
            began = time.perf_counter()
            connection.execute(_COUNT, [tenant]).fetchall()
            times.append(time.perf_counter() - began)
    return min(times) * 1000


async def _indexed(bench: Bench, tenant: int) -> float:
    """Seconds from the declaration until the index is whole; what the server's own workers do of it
    is done, too."""
    store = PostgresStore(bench.conninfo)
    await store.open()
    began = time.perf_counter()
    head = await store.head(tenant)
    while not any(index.indexed >= head for index in await store.fields.indexes(tenant)):
        await follow(store.fields, tenant, 20)
        bench.say("indexing the declared field")
        await asyncio.sleep(0.01)
    await store.close()
    return time.perf_counter() - began


async def _seconds(bench: Bench, connection: Connection, query: dict[str, Any]) -> float:
    data = request(bench.site, "GET", f"{MAPS}?{urlencode(query)}", None)
    began = time.perf_counter()
    await connection.expect(data)
    return time.perf_counter() - began


def _at(times: list[float], share: float) -> float:
    """Milliseconds; ``times``: sorted."""
    return times[int(len(times) * share)] * 1000
