"""A tenant's GETs alone, and while its neighbour floods: how much longer does the slowest hundredth
take?

The victim sends `RATE` requests a second. Of each kind of work for itself the neighbour sends ten
times as many, and then as many as ten times the victim's clients can. The flood comes from a
process of its own that gives way to all others, as if it were on another machine; where the system
shares processors by sessions (autogroup), its own session gives way, too. Both use an operator's
token, whose priority level is exempt: what keeps them apart is the turns of tenants
alone. ``python -m tests.benchmarks.neighbour PORT KIND SECONDS RATE`` is that process, which reads
the token from its input; without an end to the rate: ``inf``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from math import inf
from pathlib import Path

import uvloop

from tests.benchmarks.bench import Bench, configmap
from tests.benchmarks.client import Connection, Site, request, tls
from tests.benchmarks.processes import loop_seconds
from tests.benchmarks.result import Result, percentiles
from tests.support.installation import REPOSITORY

RATE, CLIENTS = 60.0, 4
TIMES = 10
_VICTIM, _NEIGHBOUR = "/clusters/victim", "/clusters/neighbour"
_OBJECTS = "/api/v1/namespaces/default/configmaps"
_WRITTEN = "/api/v1/namespaces/written/configmaps"
"""Apart, so that what is listed stays as many."""
_WARM_UP = 0.5
_MEGABYTE = 900_000
_NUMBERS = 60
_GROUP = "bench.example.com"

Flood = Callable[[Site, int, int], bytes]


def _reads(site: Site, client: int, number: int) -> bytes:
    return request(site, "GET", f"{_NEIGHBOUR}{_OBJECTS}/object-000007")


def _lists(site: Site, client: int, number: int) -> bytes:
    return request(site, "GET", _NEIGHBOUR + _OBJECTS)


def _writes(site: Site, client: int, number: int) -> bytes:
    name = f"w-{os.getpid()}-{client:03}-{number:06}"
    return request(site, "POST", _NEIGHBOUR + _WRITTEN, configmap(name))


def _large(site: Site, client: int, number: int) -> bytes:
    return _one_large(site, client)


@cache
def _one_large(site: Site, client: int) -> bytes:
    """Made once: the flood has few cores to share with what it floods."""
    body = configmap(f"large-{client}", large="x" * _MEGABYTE)
    return request(site, "POST", f"{_NEIGHBOUR}{_OBJECTS}?dryRun=All", body)


def _cel(site: Site, client: int, number: int) -> bytes:
    obj = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Costly",
        "metadata": {"name": f"costly-{client}"},
        "spec": {"numbers": list(range(_NUMBERS))},
    }
    path = f"{_NEIGHBOUR}/apis/{_GROUP}/v1/namespaces/default/costlies?dryRun=All"
    return request(site, "POST", path, json.dumps(obj).encode())


def _watches(site: Site, client: int, number: int) -> bytes:
    return request(site, "GET", f"{_NEIGHBOUR}{_OBJECTS}?watch=true&timeoutSeconds=1")


KINDS: dict[str, Flood] = {
    "reads": _reads,
    "lists": _lists,
    "writes": _writes,
    "watches": _watches,
    "large objects": _large,
    "CEL": _cel,
}


async def neighbour(bench: Bench) -> list[Result]:
    await _prepare(bench)
    found = []
    for kind in KINDS:
        for rate in (RATE * TIMES, inf):
            alone = await _victim(bench)
            seen, answers = await _beside(bench, kind, rate)
            notes = seen.notes() | {
                "alone": alone.notes()["loop at work p99"],
                "neighbour": f"{answers / bench.seconds:,.0f}/s",
            }
            figures = seen.p99 * 1000, "ms p99", alone.p99 * 1000
            name = f"beside all {kind}" if rate == inf else f"beside {TIMES} times as many {kind}"
            found.append(Result(name, *figures, notes=notes))
            await asyncio.sleep(1)
    return found


async def _prepare(bench: Bench) -> None:
    for name in ("victim", "neighbour"):
        done = await asyncio.to_thread(bench.installation.manage, "tenant", "create", name)
        if done.returncode:
            raise RuntimeError(done.stderr)
        await bench.fill("default", 500, name)
    await bench.namespace("written", "neighbour")
    definition = json.dumps(_definition()).encode()
    path = f"{_NEIGHBOUR}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await bench.send("POST", path, definition)
    for client in range(20):  # until every worker serves it
        with suppress(RuntimeError):
            await bench.send("GET", f"{_NEIGHBOUR}/apis/{_GROUP}/v1/costlies")
        await bench.send("GET", _VICTIM + _OBJECTS)
        await bench.send("GET", _NEIGHBOUR + _OBJECTS + f"?limit={client + 1}")
        await asyncio.sleep(0.05)


def _definition() -> dict[str, object]:
    rule = "self.numbers.all(x, self.numbers.all(y, x + y >= 0))"
    numbers = {"type": "array", "maxItems": 100, "items": {"type": "integer"}}
    spec = {
        "type": "object",
        "properties": {"numbers": numbers},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"costlies.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"plural": "costlies", "singular": "costly", "kind": "Costly"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


class Seen:
    """Of the victim's requests: how long each took, and how long the busiest worker's loop was at
    work meanwhile; seconds."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.at_work: list[float] = []

    @property
    def p99(self) -> float:
        return _p99(self.latencies)

    def notes(self) -> dict[str, str]:
        at_work = f"{_p99(self.at_work) * 1000:.1f} ms"
        return {**percentiles(self.latencies), "loop at work p99": at_work}


def _p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


async def _victim(bench: Bench) -> Seen:
    """GETs at a steady rate, over several connections."""
    site, pids = bench.site, bench.worker_pids()
    connections = [await Connection.open(site) for _ in range(CLIENTS)]
    ask = request(site, "GET", f"{_VICTIM}{_OBJECTS}/object-000007")
    seen = Seen()

    async def one(connection: Connection, first: float) -> None:
        due = time.perf_counter() + first
        end = due + bench.seconds
        while due < end:
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            began, before = time.perf_counter(), loop_seconds(pids)
            await connection.expect(ask)
            seen.latencies.append(time.perf_counter() - began)
            after = loop_seconds(pids)
            seen.at_work.append(max(b - a for a, b in zip(before, after, strict=True)))
            due = max(due + CLIENTS / RATE, time.perf_counter())

    await asyncio.gather(*(one(c, i / RATE) for i, c in enumerate(connections)))
    for connection in connections:
        connection.close()
    return seen


async def _beside(bench: Bench, kind: str, rate: float) -> tuple[Seen, int]:
    """What the victim saw, and how many answers its neighbour had, which sends so many requests a
    second."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.neighbour"),
        *(str(bench.site.port), kind, str(bench.seconds + 2 * _WARM_UP), str(rate)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=REPOSITORY,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(bench.site.headers)
    process.stdin.close()
    await process.stdout.readline()  # it has its connections
    await asyncio.sleep(_WARM_UP)
    seen = await _victim(bench)
    answers = await process.stdout.readline()
    if await process.wait():
        raise RuntimeError(f"the flood of {kind} broke")
    return seen, int(answers)


class _Pace:
    """When each of several clients, who together send so many requests a second, may send its next:
    one after the other, and those that are late catch up."""

    def __init__(self, clients: int, rate: float) -> None:
        self._every, self._apart = clients / rate, 1 / rate

    def first(self, client: int) -> float:
        return time.monotonic() + client * self._apart

    async def follow(self, due: float) -> float:
        """Waits until it is due; when the next one is."""
        await asyncio.sleep(max(due - time.monotonic(), 0))
        return due + self._every


async def _flood(site: Site, kind: str, seconds: float, rate: float) -> None:
    clients = CLIENTS * TIMES
    pace = _Pace(clients, rate)
    if kind == "watches":
        watching = [
            await asyncio.open_connection("127.0.0.1", site.port, ssl=tls(), limit=2**24)
            for _ in range(clients)
        ]
        print("begins", flush=True)
        work = [
            _watch(site, *streams, client, pace, seconds) for client, streams in enumerate(watching)
        ]
    else:
        connections = [await Connection.open(site) for _ in range(clients)]
        print("begins", flush=True)
        make = KINDS[kind]
        work = [_send(site, make, *c, pace, seconds) for c in enumerate(connections)]
    print(sum(await asyncio.gather(*work)), flush=True)


async def _send(
    site: Site, make: Flood, client: int, connection: Connection, pace: _Pace, seconds: float
) -> int:
    """How many answers one client gets, those included that send it away for a second (429): it
    does not go."""
    due = pace.first(client)
    end, number = due + seconds, 0
    while time.monotonic() < end:
        due = await pace.follow(due)
        status = await connection.send(make(site, client, number))
        if status >= 300 and status != 429:
            raise RuntimeError(f"{status}: {connection.body[:300]!r}")
        number += 1
    connection.close()
    return number


async def _watch(
    site: Site,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    client: int,
    pace: _Pace,
    seconds: float,
) -> int:
    """Opens watches again and again, each of which begins with all objects; how many."""
    due = pace.first(client)
    end, count = due + seconds, 0
    while time.monotonic() < end:
        due = await pace.follow(due)
        writer.write(_watches(site, client, count))
        await reader.readuntil(b"\r\n0\r\n\r\n")
        count += 1
    writer.close()
    return count


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")
    _port, _kind, _seconds, _rate = sys.argv[1:]
    _site = Site(int(_port), sys.stdin.buffer.read())
    uvloop.run(_flood(_site, _kind, float(_seconds), float(_rate)))
