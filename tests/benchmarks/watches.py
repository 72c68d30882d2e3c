"""Fan-out: one stream of changes to many watchers; how many events arrive in all, and how late.

Flood: as many changes as the slowest watcher keeps up with. Calm: a fixed number of changes, for
the lag that clients see on a server that is not at its limit. The yardstick is a bare ASGI
application that sends pieces of the same size to as many clients as fast as it can.
"""

from __future__ import annotations

import asyncio
import time

from tests.benchmarks.bench import Bench, configmap
from tests.benchmarks.client import Connection, request
from tests.benchmarks.result import Measure, Result, percentiles
from tests.benchmarks.watchers import Crowd
from tests.support.waiting import PATIENCE, until

_WRITERS = 8
_AHEAD = 64  # changes that the slowest watcher may be behind, in a flood
_CALM = 10.0  # changes per second


async def fanout_100(bench: Bench) -> list[Result]:
    return await fanout(bench, 100)


async def fanout_500(bench: Bench) -> list[Result]:
    return await fanout(bench, 500)


async def fanout(bench: Bench, count: int) -> list[Result]:
    namespace = f"watched-{count}"
    await bench.namespace(namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for writer in range(_WRITERS):
        sample = await bench.send("POST", path, configmap(f"w{writer}", sent="0" * 19))
    crowd = await Crowd.open(
        bench.site, f"{path}?watch=1&resourceVersion=0&allowWatchBookmarks=false", count
    )
    try:
        await _settled(crowd, _WRITERS)
        crowd.take_lags()
        flood = _Writing(bench, path, crowd)
        ours = await bench.measure(flood.flood)
        flood_lags = crowd.take_lags()
        calm = _Writing(bench, path, crowd)
        await calm.calm()
        calm_lags = crowd.take_lags()
    finally:
        crowd.close()
    theirs = await _yardstick(bench, len(sample) + 30, count)
    name = f"watch, {count} watchers"
    lag = Result(
        f"{name}: lag at {_CALM:.0f} changes/s",
        _median(calm_lags) * 1000,
        "ms",
        notes=percentiles(calm_lags),
    )
    return [Result.of(name, "events/s", ours, theirs, **percentiles(flood_lags)), lag]


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


async def _settled(crowd: Crowd, events: int) -> None:
    """Waits until every watcher has that many events."""
    deadline = time.monotonic() + PATIENCE
    while crowd.slowest() < events:
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"the slowest of {len(crowd)} watchers has {crowd.slowest()} events of {events}"
            )
        await asyncio.sleep(0.01)


class _Writing:
    """Changes, each with the moment of its sending in it."""

    def __init__(self, bench: Bench, path: str, crowd: Crowd) -> None:
        self._bench, self._path, self._crowd = bench, path, crowd
        self._before, self._written = crowd.slowest(), 0

    async def _change(self, connection: Connection, writer: int) -> None:
        self._written += 1
        body = b'{"data":{"sent":"%019d"}}' % time.monotonic_ns()
        await connection.expect(
            request(
                self._bench.site,
                "PATCH",
                f"{self._path}/w{writer}",
                body,
                "application/merge-patch+json",
            )
        )

    async def flood(self) -> tuple[int, float]:
        began, end = time.perf_counter(), time.perf_counter() + self._bench.seconds
        start = self._crowd.events

        async def one(writer: int) -> None:
            connection = await Connection.open(self._bench.site)
            while not self._written or time.perf_counter() < end:
                if self._before + self._written - self._crowd.slowest() < _AHEAD:
                    await self._change(connection, writer)
                else:
                    await asyncio.sleep(0.002)
            connection.close()

        await asyncio.gather(*(one(writer) for writer in range(_WRITERS)))
        await _settled(self._crowd, self._before + self._written)
        return self._crowd.events - start, time.perf_counter() - began

    async def calm(self) -> None:
        connection = await Connection.open(self._bench.site)
        end = time.perf_counter() + self._bench.seconds
        while not self._written or time.perf_counter() < end:
            await self._change(connection, 0)
            await asyncio.sleep(1 / _CALM)
        connection.close()
        await _settled(self._crowd, self._before + self._written)


async def _yardstick(bench: Bench, size: int, count: int) -> Measure:
    crowd = await Crowd.open(bench.bare, f"/stream/{size}", count)

    async def listen() -> tuple[int, float]:
        began, before = time.perf_counter(), crowd.events
        await asyncio.sleep(bench.seconds)
        await until(lambda: crowd.events > before)
        return crowd.events - before, time.perf_counter() - began

    measured = await bench.measure(listen, bare=True)
    crowd.close()
    return measured
