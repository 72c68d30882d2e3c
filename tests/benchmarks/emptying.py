"""What controllers delete: 10,000 objects whose owner went, and a namespace of 5,000 objects while
writers fight it. Each beside plain inserts of rows, one after the other by one client: whoever
empties deletes as one does."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from tests.benchmarks.bench import Bench, configmap
from tests.benchmarks.client import Connection, request
from tests.benchmarks.inserts import insert
from tests.benchmarks.result import Result

OWNED, FOUGHT = 10_000, 5_000
_WRITERS = 8
_PAUSE = 0.01  # seconds between two writes of one of them
_LOOK = 0.05
_FIGHTING = frozenset({200, 201, 403, 404, 409, 429})
"""Statuses that a writer may be answered; 403: the namespace is being deleted, 404: the object, or
all of it, is gone."""


async def owners(bench: Bench, count: int = OWNED) -> list[Result]:
    await bench.namespace("owned")
    path = "/api/v1/namespaces/owned/configmaps"
    owner = json.loads(await bench.send("POST", path, configmap("owner")))["metadata"]
    await bench.fill("owned", count, owner=owner)
    await bench.send("DELETE", f"{path}/model")

    async def gone(connection: Connection) -> bool:
        page = await connection.expect(request(bench.site, "GET", f"{path}?limit=2"))
        names = [item["metadata"]["name"] for item in json.loads(page)["items"]]
        return not [name for name in names if name != "kube-root-ca.crt"]

    delete = request(bench.site, "DELETE", f"{path}/owner?propagationPolicy=Background")
    return [await _emptied(bench, f"{count:,} owned objects collected", count, delete, gone)]


async def namespace(bench: Bench, count: int = FOUGHT) -> list[Result]:
    await bench.fill("fought", count)
    over = asyncio.Event()
    statuses: dict[int, int] = {}

    async def gone(connection: Connection) -> bool:
        there = request(bench.site, "GET", "/api/v1/namespaces/fought")
        return await connection.send(there) == 404

    writers = [
        asyncio.create_task(_fight(bench, i, count, over, statuses)) for i in range(_WRITERS)
    ]
    try:
        delete = request(bench.site, "DELETE", "/api/v1/namespaces/fought")
        result = await _emptied(bench, f"namespace of {count:,} emptied", count, delete, gone)
    finally:
        over.set()
        await asyncio.gather(*writers)
    result.notes["fought with"] = ", ".join(f"{n} x {s}" for s, n in sorted(statuses.items()))
    return [result]


async def _fight(
    bench: Bench, writer: int, count: int, over: asyncio.Event, statuses: dict[int, int]
) -> None:
    """Creates and changes objects until the namespace is gone, and creates some more."""
    connection = await Connection.open(bench.site)
    path, merge = "/api/v1/namespaces/fought/configmaps", "application/merge-patch+json"
    number = 0
    while not over.is_set():
        number += 1
        name = f"object-{(number * _WRITERS + writer) * 37 % (count - 1):06}"
        body = b'{"data":{"number":"%d"}}' % number
        for data in (
            request(bench.site, "PATCH", f"{path}/{name}", body, merge),
            request(bench.site, "POST", path, configmap(f"new-{writer}-{number}")),
        ):
            status = await connection.send(data)
            statuses[status] = statuses.get(status, 0) + 1
            if status not in _FIGHTING:
                raise RuntimeError(f"{data[:120]!r} was answered {status}: {connection.body!r}")
        await asyncio.sleep(_PAUSE)
    connection.close()


async def _emptied(
    bench: Bench,
    name: str,
    count: int,
    delete: bytes,
    gone: Callable[[Connection], Awaitable[bool]],
) -> Result:
    connection = await Connection.open(bench.site)

    async def load() -> tuple[int, float]:
        began = time.perf_counter()
        await connection.expect(delete)
        while not await gone(connection):  # noqa: ASYNC110  it is measured from outside
            await asyncio.sleep(_LOOK)
        return count, time.perf_counter() - began

    ours = await bench.measure(load)
    connection.close()
    theirs = await bench.measure(lambda: insert(bench.conninfo, 1, bench.seconds, 600), bare=True)
    theirs.cpu = 0.0  # the clients of the yardstick are this process
    return Result.of(name, "objects/s", ours, theirs, took=f"{ours.seconds:.1f} s")
