"""What the workers have counted, as the pages of the installation and of a tenant tell it."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.endpoints.metrics import BOUNDS, DURATIONS, INFLIGHT, LAG, LASTING, REQUESTS
from apiserver.endpoints.slow_requests import MOST, NAME
from apiserver.endpoints.webhook_metrics import FAILED_OPEN, REJECTIONS
from controlplane.console.facts import counted


def labels(verb: str, resource: str, code: str = "") -> list[str]:
    """Of requests with a code, else of durations."""
    what = ["", "v1", resource, "", "namespace", "apiserver"]
    return [verb, "", *what, code] if code else [verb, "", *what]


def lasting(verb: str, resource: str) -> list[str]:
    """Of requests that last: theirs do not say whether they are dry runs."""
    verb, _, *what = labels(verb, resource)
    return [verb, *what]


def durations(*cells: tuple[float, int]) -> list[float]:
    """``cells``: upper bounds in seconds (inf: above all), and how many were within; each took as
    long as its bound."""
    bounds = (*BOUNDS, float("inf"))
    counts = [0.0] * len(bounds)
    for bound, count in cells:
        counts[bounds.index(bound)] += count
    return [*counts, float(sum(min(b, 90.0) * n for b, n in cells))]


ONE: dict[str, Any] = {
    REQUESTS: [[labels("GET", "pods", "200"), 9], [labels("LIST", "pods", "503"), 2]],
    f"={INFLIGHT}": [[["readOnly"], 1], [["mutating"], 2]],
    f"={LASTING}": [[lasting("WATCH", "pods"), 4], [lasting("CONNECT", "pods"), 1]],
    f"={LAG}": [[[], 7]],
    DURATIONS: [
        [labels("GET", "pods"), durations((0.005, 98), (2.0, 2))],
        [labels("WATCH", "pods"), durations((60.0, 4))],
    ],
    REJECTIONS: [
        [["a.example.com", "validating", "CREATE", "no_error", "403"], 5],
        [["b.example.com", "admit", "CREATE", "calling_webhook_error", "500"], 3],
    ],
    FAILED_OPEN: [[["b.example.com", "admit"], 1]],
}
OTHER: dict[str, Any] = {
    DURATIONS: [
        [labels("GET", "pods"), durations((0.005, 100))],
        [labels("POST", "pods"), durations((float("inf"), 1))],
    ],
}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A worker 7 that tells ONE, and one 8 that is gone; what the first was asked for."""
    asked: list[int] = []
    gone = socket.socket(socket.AF_UNIX)
    gone.bind(str(tmp_path / "w8.sock"))
    gone.close()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "w7.sock"))
        listening.listen()

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                asked.append(int(connection.makefile().readline()))
                connection.sendall(json.dumps(ONE).encode())

        thread = threading.Thread(target=answer)
        thread.start()
        monkeypatch.setitem(os.environ, "POLYPLANE_METRICS_DIR", str(tmp_path))
        yield asked
        thread.join()


def test_each_worker_that_answers_is_asked(told: list[int]) -> None:
    assert counted.snapshots(5) == {"7": ONE}
    assert told == [5]


def test_without_a_supervisor_there_are_none() -> None:
    assert counted.snapshots() == {}


def test_a_worker_in_numbers() -> None:
    (worker,) = counted.workers({"7": ONE})
    numbers = {"requests": 11, "errors": 2, "inflight": 3, "watches": 4, "behind": 7}
    assert worker == {"pid": "7", **numbers}
    assert counted.watches([ONE, OTHER]) == 4


def test_the_slowest_kinds_of_all_workers_come_first() -> None:
    post, get = counted.slowest([ONE, OTHER])
    assert (post["verb"], post["requests"], post["slow"]) == ("POST", 1, 1)
    assert post["p99Seconds"] is None, "above the last bound"
    assert (get["group"], get["resource"], get["subresource"]) == ("", "pods", "")
    assert (get["requests"], get["slow"], get["p99Seconds"]) == (200, 2, 0.005)
    assert get["meanSeconds"] == pytest.approx((198 * 0.005 + 4.0) / 200)


def slow(audit_id: str, took: float, acting: str = "") -> Any:
    what = [audit_id, "list", "/api/v1/pods?limit=…", "ann", acting, "acme", "504"]
    return [what, [1_800_000_000.0, took]]


def test_the_slowest_requests_of_all_workers_come_first() -> None:
    one, other = [slow("a", 9.5), slow("b", 1.0)], [slow("c", 3.0, "eve")]
    first, *rest = counted.slowest_requests([{NAME: one}, {NAME: other}, {}])
    assert [row["auditID"] for row in rest] == ["c", "b"] and rest[0]["as"] == "eve"
    assert first == {
        "auditID": "a",
        "verb": "list",
        "path": "/api/v1/pods?limit=…",
        "user": "ann",
        "as": "",
        "tenant": "acme",
        "code": 504,
        "at": "2027-01-15T08:00:00+00:00",
        "seconds": 9.5,
        "since": "2027-01-15T07:59:00+00:00",
        "until": "2027-01-15T08:01:09.500000+00:00",
    }
    many = [slow(str(n), float(n)) for n in range(3 * MOST)]
    told = [row["seconds"] for row in counted.slowest_requests([{NAME: many}, {NAME: many}])]
    assert len(told) == MOST and told[0] == 3 * MOST - 1


def test_a_refusal_is_no_failure() -> None:
    row = {"resource": "mutatingwebhookconfigurations", "name": "b.example.com", "failures": 4}
    assert counted.failing([ONE, OTHER]) == [row]
