"""Searches in a tenant of many ConfigMaps in a thousand namespaces: OBJECTS of them, as many as the
environment variable POLYPLANE_BENCH_OBJECTS says."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from typing import Any

import psycopg

from apiserver.search.indexer import Indexer
from apiserver.storage.postgres import PostgresStore
from tests.benchmarks.bench import Bench
from tests.benchmarks.client import Connection, request
from tests.benchmarks.result import Result, percentiles
from tests.benchmarks.tenants import make

OBJECTS = int(os.environ.get("POLYPLANE_BENCH_OBJECTS", "20000"))
TENANT = "haystack-0"
SEARCHES = f"/clusters/{TENANT}/apis/search.polyplane.dev/v1/objectsearches"
_STEP = 20_000
_FILL = """
WITH fresh AS MATERIALIZED (
    SELECT i, nextval(%(sequence)s::regclass) AS version, gen_random_uuid() AS uid,
        'ns-' || i %% 1000 AS space, 'object-' || i AS name
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) i
), made AS MATERIALIZED (
    SELECT *, replace(replace(json_build_object(
        'kind', 'ConfigMap', 'apiVersion', 'v1', 'metadata', json_build_object(
            'name', name, 'namespace', space, 'uid', uid, 'creationTimestamp', to_char(
                timestamp '2026-01-01' + i / 100 * interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'
            ),
            'labels', json_build_object('app', 'app-' || i %% 500, 'tier', 'tier-' || i %% 7)
        ), 'data', json_build_object('app.conf', (
            SELECT string_agg('w' || floor(20000 * power(random(), 3)) || '-' || i %% j, ' ')
            FROM generate_series(1, 40) j
        ))
    )::text, '" : ', '":'), ', "', ',"') AS data FROM fresh
), logged AS (
    INSERT INTO events (tenant_id, resource_version, previous, api_group, resource, namespace, name,
        uid, type, data, key_previous, at, size)
    SELECT %(tenant)s, version, version - 1, '', 'configmaps', space, name, uid, 'A', data::json, 0,
        now(), length(data) FROM made
)
INSERT INTO objects (tenant_id, api_group, resource, namespace, name, uid, resource_version, data,
    owner_uids, finalizers, deleting, created_at, size, claims)
SELECT %(tenant)s, '', 'configmaps', space, name, uid, version, data::jsonb, '{}', '{}', false,
    now(), length(data), '{}' FROM made
"""
_HEAD = """
UPDATE tenant_heads h SET object_count = object_count + %(count)s, head = (
    SELECT max(e.resource_version) FROM events e WHERE e.tenant_id = h.tenant_id
) WHERE h.tenant_id = %(tenant)s
"""
_LOOK_THROUGH = "SELECT count(*) FROM objects WHERE tenant_id = %s AND data::text ILIKE '%%w195%%'"
_ASKED: dict[str, Sequence[dict[str, Any]]] = {
    "one object by its name": [{"text": f"object-{n * OBJECTS // 20 + 7}"} for n in range(20)],
    "the beginning of names": [{"text": f"object-{n}", "in": ["names"]} for n in range(10, 30)],
    "a label": [{"text": f"app=app-{n}"} for n in range(20)],
    "a word that all have": [{"text": text} for text in ("tier", "object", "app.conf", "w1")],
    "rare words": [{"text": f"w{n}-1"} for n in range(19000, 19900, 45)],
    "frequent words": [{"text": f"w{n}-0"} for n in range(20)],
    "in one namespace": [{"text": "w2", "namespaces": [f"ns-{n}"]} for n in range(20)],
    "nowhere": [{"text": f"nowhere{n}"} for n in range(20)],
}


async def search(bench: Bench, objects: int = OBJECTS) -> list[Result]:
    seconds = await prepare(bench, objects)
    base = _looked_through(bench, await bench.tenant_number(TENANT))
    connection = await Connection.open(bench.site)
    results = [Result("objects indexed", objects / seconds, "objects/s")]
    every: list[float] = []
    for name, specs in _ASKED.items():
        asked = [("POST", SEARCHES, json.dumps({"spec": spec}).encode()) for spec in specs]
        times = await _times(bench, connection, asked)
        every += times
        notes: dict[str, Any] = {**percentiles(times)}
        results.append(Result(f"search p95, {name}", _p95(times), "ms", base, notes=notes))
    connection.close()
    notes = {**percentiles(every), "objects": f"{objects:,}"}
    return [*results, Result("search p95", _p95(every), "ms", base, notes=notes)]


async def prepare(bench: Bench, objects: int) -> float:
    """Makes `TENANT` and its objects, unless another benchmark has; seconds in which they were
    indexed."""
    if objects not in bench.indexed:
        await make(bench, "haystack", 1)
        number = await bench.tenant_number(TENANT)
        fill(bench, number, objects)
        bench.indexed[objects] = await _index(bench, number)
    return bench.indexed[objects]


def fill(bench: Bench, tenant: int, objects: int) -> None:
    """Into the tables: the log has no gap."""
    with psycopg.connect(bench.conninfo, autocommit=True) as connection:
        for first in range(1, objects + 1, _STEP):
            last = min(first + _STEP - 1, objects)
            asked = {"tenant": tenant, "sequence": f"pp_rv_{tenant}", "first": first, "last": last}
            with connection.transaction():
                connection.execute("SELECT set_config('polyplane.tenant', 'all', true)")
                connection.execute("SELECT pg_advisory_xact_lock(5786, hashint8(%s))", [tenant])
                connection.execute(_FILL, asked)
                connection.execute(_HEAD, {"tenant": tenant, "count": last - first + 1})
            bench.say(f"{last:,} objects")
        connection.execute("ANALYZE objects, events")


async def _index(bench: Bench, tenant: int) -> float:
    """Until all is indexed for searches; seconds."""
    store = PostgresStore(bench.conninfo)
    await store.open()
    began = time.perf_counter()
    while (await store.search.written(tenant, limit=1, max_bytes=1))[1]:
        await Indexer(store).index(tenant, 100)  # beside a worker, which may be at it already
        bench.say("indexing")
        await asyncio.sleep(0.01)
    seconds = time.perf_counter() - began
    await store.close()
    with psycopg.connect(bench.conninfo, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) search_entries")
    return seconds


def _looked_through(bench: Bench, tenant: int) -> float:
    """Milliseconds in which PostgreSQL looks at the text of each object; the best of three."""
    times = []
    with psycopg.connect(bench.conninfo, autocommit=True) as connection:
        for _ in range(3):
            began = time.perf_counter()
            connection.execute(_LOOK_THROUGH, [tenant]).fetchone()
            times.append(time.perf_counter() - began)
    return min(times) * 1000


async def _times(
    bench: Bench, connection: Connection, requests: Sequence[tuple[str, str, bytes | None]]
) -> list[float]:
    """Seconds of each, one after the other."""
    times = []
    for method, path, body in requests:
        data = request(bench.site, method, path, body)
        began = time.perf_counter()
        answer = await connection.expect(data)
        times.append(time.perf_counter() - began)
        if b'"incomplete":true' in answer:
            raise RuntimeError(f"an incomplete answer to {body!r}: {answer[-300:]!r}")
    return times


def _p95(times: Sequence[float]) -> float:
    """Milliseconds."""
    return sorted(times)[int(len(times) * 0.95)] * 1000
