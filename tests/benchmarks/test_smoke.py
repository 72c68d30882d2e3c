"""The harness itself: every benchmark runs with tiny numbers, and says what it should."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.benchmarks import __main__ as main
from tests.benchmarks import (
    caches,
    console,
    definitions,
    emptying,
    haystack,
    policies,
    questions,
    tenants,
    watches,
)
from tests.benchmarks.result import Result, percentiles, table


def test_every_benchmark_measures_something(monkeypatch) -> None:
    tiny = {
        **{
            name: main.BENCHMARKS[name]
            for name in ("get", "create", "create-audit", "update", "merge-patch", "apply")
        },
        "create-policies": lambda bench: policies.create(bench, 2),
        "owners": lambda bench: emptying.owners(bench, 5),
        "namespace": lambda bench: emptying.namespace(bench, 5),
        "watch": lambda bench: watches.fanout(bench, 3),
        "tenants": main.BENCHMARKS["tenants"],
        "idle-tenants": lambda bench: tenants.idle(bench, 2),
        "tenant-objects": lambda bench: tenants.declared(bench, 3),
        "cached-objects": lambda bench: caches.cached(bench, 20),
        "definitions": lambda bench: definitions.created(bench, 2),
        "held-definitions": lambda bench: definitions.held(bench, 2, 2),
        "questions": lambda bench: questions.questions(bench, 300),
        "search": lambda bench: haystack.search(bench, 300),
    }
    monkeypatch.setattr(main, "BENCHMARKS", tiny)
    results = main.run(list(tiny), 0.2, clients=2)
    more = 1 + 1 + 7 + 9  # lines of watches, definitions, questions, searches
    assert len(results) == len(tiny) + more
    assert all(r.value > 0 for r in results)
    compared = [r for r in results if r.yardstick]
    assert len(compared) == 29
    assert all((r.ratio or 0) > 0 for r in compared)  # how much, a machine that is busy decides
    json.dumps([r.as_json() for r in results])


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="no Chromium: NOTHING of the console's benchmark is tested: "
    "apt-get install chromium chromium-driver",
)
def test_the_consoles_benchmark_measures_something(monkeypatch) -> None:
    monkeypatch.setattr(console, "UPDATES", 2)
    tiny = {"console": lambda bench: console.console(bench, 60, 1)}
    monkeypatch.setattr(main, "BENCHMARKS", tiny)
    results = main.run(list(tiny), 0.2)
    assert len(results) == len(console.LISTS) + len(console.PAGES) + 1
    assert all(r.value > 0 and r.unit == "ms" for r in results)
    opened = [r for r in results if "queries" in r.notes]
    assert len(opened) == len(results) - 1, "one is when a write is seen"
    assert all(r.notes["objects"] == "60" for r in opened)
    frame = next(r for r in opened if "frame" in r.name)
    assert frame.notes["queries"] > 0
    json.dumps([r.as_json() for r in results])


def test_the_table_has_a_line_for_each_result() -> None:
    lines = table(
        [
            Result("GET", 1234.5, "requests/s", 5000.0, 10.0, 2.0, {"bytes": "571"}),
            Result("memory", 99.5, "MB"),
        ]
    ).splitlines()
    assert len(lines) == 3
    assert "1,234" in lines[1] and "24.7%" in lines[1] and lines[1].endswith("bytes 571")
    assert "99.50" in lines[2]


def test_percentiles_are_in_milliseconds() -> None:
    assert percentiles([i / 1000 for i in range(100)]) == {
        "p50": "50.0 ms",
        "p99": "99.0 ms",
        "max": "99.0 ms",
    }
    assert percentiles([]) == {}
