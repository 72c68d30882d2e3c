"""``python -m tests.benchmarks``: starts a server of its own, measures it beside its yardsticks,
prints a table."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import uvloop

from tests.benchmarks import (
    audit,
    authorization,
    caches,
    cel,
    console,
    definitions,
    emptying,
    haystack,
    neighbour,
    policies,
    questions,
    reads,
    tenants,
    watches,
    writes,
)
from tests.benchmarks.bench import Bench
from tests.benchmarks.result import Result, table
from tests.benchmarks.wrk import WRK

Benchmark = Callable[[Bench], Coroutine[None, None, list[Result]]]

BENCHMARKS: dict[str, Benchmark] = {
    "get": reads.get,
    "list-500": reads.list_500,
    "list-5000": reads.list_5000,
    "create": writes.create,
    "create-audit": audit.create,
    "create-policies": policies.create,
    "update": writes.update,
    "merge-patch": writes.merge_patch,
    "apply": writes.apply,
    "owners": emptying.owners,
    "namespace": emptying.namespace,
    "watch-100": watches.fanout_100,
    "watch-500": watches.fanout_500,
    "neighbour": neighbour.neighbour,
    "tenants": tenants.create,
    "idle-tenants": tenants.idle,
    "tenant-objects": tenants.declared,
    "authorization": authorization.decisions,
    "cached-objects": caches.cached,
    "cel": cel.rules,
    "definitions": definitions.created,
    "held-definitions": definitions.held,
    "search": haystack.search,
    "questions": questions.questions,
    "console": console.console,
}


def run(names: Sequence[str], seconds: float, *, clients: int = 0) -> list[Result]:
    """Measures those, one after the other. Raises RuntimeError when an answer is wrong."""
    folder = Path(tempfile.mkdtemp(prefix="polyplane-bench-"))
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"bench: {time.monotonic() - began:5.1f} s  {text}", file=sys.stderr, flush=True)

    bench = Bench(folder, seconds, say)
    bench.clients = clients or bench.clients
    results: list[Result] = []
    if "create-audit" in names:
        audit.prepare(bench)
    try:
        say(f"starting a server of {bench.workers} workers in {folder}")
        bench.start()
        for name in names:
            say(name)
            fresh = uvloop.run(_one(BENCHMARKS[name], bench))
            results += fresh
            for line in table(fresh).splitlines():
                say(line)
        say("stopping")
    finally:
        bench.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return results


async def _one(benchmark: Benchmark, bench: Bench) -> list[Result]:
    try:
        return await benchmark(bench)
    finally:
        await asyncio.sleep(0.05)  # connections that were closed get their turn to end


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="make bench", description="Benchmarks, each beside a yardstick from the same run."
    )
    parser.add_argument(
        "--quick", action="store_true", help="one second for each load instead of four"
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=BENCHMARKS,
        help=f"one of {', '.join(BENCHMARKS)}; repeatable",
    )
    parser.add_argument("--seconds", type=float, help="for each load")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the results there")
    arguments = parser.parse_args()
    if WRK is None:
        print(
            "bench: without wrk (apt-get install wrk) our own client makes the load of reads, and "
            "takes more of the processors",
            file=sys.stderr,
        )
    results = run(
        arguments.only or list(BENCHMARKS), arguments.seconds or (1 if arguments.quick else 4)
    )
    print(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps([r.as_json() for r in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
