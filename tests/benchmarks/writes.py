"""Create, update, merge patch and apply of small ConfigMaps, beside plain inserts of rows as long
as the stored object."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.bench import Bench, configmap
from tests.benchmarks.client import Connection, drive, request
from tests.benchmarks.inserts import insert
from tests.benchmarks.result import Result, percentiles

_PATH = "/api/v1/namespaces/writes/configmaps"
_EACH = 4  # objects that each client writes in turn


async def create(bench: Bench) -> list[Result]:
    head, tail = configmap("@").split(b"@")
    return [
        await _write(
            bench,
            "create",
            lambda c, n: request(bench.site, "POST", _PATH, head + b"c%03d-%06d" % (c, n) + tail),
        )
    ]


async def update(bench: Bench) -> list[Result]:
    await _prepare(bench)

    def put(client: int, number: int) -> bytes:
        name = f"u{client:03}-{number % _EACH}"
        return request(bench.site, "PUT", f"{_PATH}/{name}", configmap(name, number=str(number)))

    return [await _write(bench, "update (PUT)", put)]


async def merge_patch(bench: Bench) -> list[Result]:
    await _prepare(bench)

    def patch(client: int, number: int) -> bytes:
        body = b'{"data":{"number":"%d"}}' % number
        return request(
            bench.site,
            "PATCH",
            f"{_PATH}/u{client:03}-{number % _EACH}",
            body,
            "application/merge-patch+json",
        )

    return [await _write(bench, "merge patch", patch)]


async def apply(bench: Bench) -> list[Result]:
    def intent(client: int, number: int) -> bytes:
        name = f"a{client:03}-{number % _EACH}"
        body = (
            b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%b"},"data":{"number":"%d"}}'
            % (name.encode(), number)
        )
        return request(
            bench.site,
            "PATCH",
            f"{_PATH}/{name}?fieldManager=bench",
            body,
            "application/apply-patch+yaml",
        )

    return [await _write(bench, "apply", intent)]


async def _prepare(bench: Bench) -> None:
    """The objects that updates and patches change; those that are there already stay."""
    await bench.namespace("writes")
    connection = await Connection.open(bench.site)
    for client in range(bench.clients):
        for number in range(_EACH):
            status = await connection.send(
                request(bench.site, "POST", _PATH, configmap(f"u{client:03}-{number}"))
            )
            if status not in (201, 409):
                raise RuntimeError(f"{connection.body!r}")
    connection.close()


async def _write(bench: Bench, name: str, make: Callable[[int, int], bytes]) -> Result:
    await bench.namespace("writes")
    latencies: list[float] = []

    async def load() -> tuple[int, float]:
        done = await drive(bench.site, bench.clients, bench.seconds, make)
        latencies.extend(done.latencies)
        return done.answers, done.seconds

    ours = await bench.measure(load)
    theirs = await bench.measure(
        lambda: insert(bench.conninfo, bench.clients, bench.seconds, 600), bare=True
    )
    theirs.cpu = 0.0  # the clients of the yardstick are this process
    return Result.of(name, "writes/s", ours, theirs, **percentiles(latencies))
