"""GET and LIST, beside a bare ASGI application that answers as many bytes."""

from __future__ import annotations

from tests.benchmarks.bench import Bench
from tests.benchmarks.result import Result
from tests.benchmarks.wrk import hammer


async def get(bench: Bench) -> list[Result]:
    await bench.fill("few", 500)
    await bench.on_every_worker("/api/v1/namespaces/few/configmaps")
    return [await _compare(bench, "GET", "/api/v1/namespaces/few/configmaps/object-000007")]


async def list_500(bench: Bench) -> list[Result]:
    await bench.fill("list500", 500)
    return [await _compare(bench, "LIST 500", "/api/v1/namespaces/list500/configmaps")]


async def list_5000(bench: Bench) -> list[Result]:
    await bench.fill("list5000", 5000)
    return [await _compare(bench, "LIST 5,000", "/api/v1/namespaces/list5000/configmaps")]


async def _compare(bench: Bench, name: str, path: str) -> Result:
    body = await bench.on_every_worker(path)
    ours = await bench.measure(lambda: hammer(bench.site, path, bench.clients, bench.seconds))
    theirs = await bench.measure(
        lambda: hammer(bench.bare, f"/{len(body)}", bench.clients, bench.seconds), bare=True
    )
    return Result.of(name, "requests/s", ours, theirs, bytes=f"{len(body):,}")
