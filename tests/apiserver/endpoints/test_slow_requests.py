"""The requests that took longest, one by one: which are kept, for how long, and what is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse

from apiserver.endpoints import metrics, slow_requests
from apiserver.endpoints.metric_peers import EVERYTHING
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.slow_requests import LATELY, MOST, NAME, SlowRequests
from apiserver.registry.scope import Tenant
from apiserver.user import User

START = 1_800_000_000.0  # seconds since 1970
MAPS = "/api/v1/namespaces/a/configmaps"


def request(path: str, query: str = "", method: str = "GET", audit_id: str = "") -> ApiRequest:
    async def receive() -> Any:
        raise AssertionError

    scope = {
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "headers": [(b"audit-id", audit_id.encode())] if audit_id else [],
        "query_string": query.encode(),
    }
    made = ApiRequest(scope, receive)
    made.received = START
    return made


class World:
    """Requests that are answered one after the other, at ``now``."""

    def __init__(self) -> None:
        self.now = START
        self.slow = SlowRequests(lambda: self.now)

    def answer(self, made: ApiRequest, seconds: float, code: int = 200) -> None:
        made.received = self.now - seconds
        self.slow.answered(made, code, seconds)

    def told(self) -> list[dict[str, Any]]:
        names = ("id", "verb", "path", "user", "as", "tenant", "code")
        cells = json.loads(json.dumps(self.slow.cells()))
        return [dict(zip(names, what, strict=True), took=took) for what, (_, took) in cells]

    def took(self) -> list[float]:
        return [row["took"] for row in self.told()]


@pytest.fixture
def world() -> World:
    return World()


def test_the_slowest_come_first_and_they_are_bounded(world: World) -> None:
    durations = [((n * 7919) % 1000) / 1000 for n in range(1000)]
    for seconds in durations:
        world.answer(request(MAPS), seconds)
    assert world.took() == sorted(durations, reverse=True)[:MOST]
    assert sum(map(len, world.slow._slots.values())) <= MOST


def test_they_are_those_of_the_last_hour(world: World) -> None:
    world.answer(request(MAPS), 9.0)
    world.now += LATELY - 60
    world.answer(request(MAPS), 1.0)
    assert world.took() == [9.0, 1.0]
    world.now += 120
    assert world.took() == [1.0]


def test_what_is_kept_does_not_grow_with_time_even_if_the_clock_is_put_back(world: World) -> None:
    for _ in range(100):
        for seconds in range(2 * MOST):
            world.answer(request(MAPS), seconds)
        world.now += 400
    rows = sum(map(len, world.slow._slots.values()))
    assert rows <= (LATELY / 300 + 1) * MOST
    world.now = START - 86400
    for seconds in (5.0, 6.0):
        world.answer(request(MAPS), seconds)
    assert len(next(reversed(world.slow._slots.values()))) == 2, "the two of the new time"
    assert sum(map(len, world.slow._slots.values())) <= rows


LASTING = [
    request(MAPS, "watch=true"),
    request("/api/v1/watch/namespaces/a/configmaps"),
    request("/api/v1/namespaces/a/pods/p/exec", "command=sh", "POST"),
    request("/api/v1/namespaces/a/pods/p/log", "follow=true"),
    request("/api/v1/namespaces/a/services/s/proxy/x"),
    request("/api/v1/proxy/namespaces/a/services/s"),
]


@pytest.mark.parametrize("made", LASTING, ids=lambda made: made.path)
def test_what_lasts_as_its_client_likes_is_not_slow(world: World, made: ApiRequest) -> None:
    world.answer(made, 600.0)
    assert world.took() == []


def test_another_protocol_is_not_slow(world: World) -> None:
    world.answer(request("/apis/g.example.com/v1/things/x/shell"), 600.0, code=101)
    assert world.took() == []


def test_what_is_told_of_one(world: World) -> None:
    made = request(f"/clusters/acme{MAPS}", "limit=5", audit_id="mine")
    made.sender, made.tenant = User("ann", "", ()), Tenant(7, "acme")
    made.user = User("eve", "", ())
    world.answer(made, 1.5, 504)
    assert world.told() == [
        {
            "id": "mine",
            "verb": "list",
            "path": f"/clusters/acme{MAPS}?limit=5",
            "user": "ann",
            "as": "eve",
            "tenant": "acme",
            "code": "504",
            "took": 1.5,
        }
    ]


def test_nobody_is_told_of_a_request_that_was_refused_before_it_was_known_whose_it_is(
    world: World,
) -> None:
    made = request(MAPS)
    made.meant = Tenant(0, "gone")
    world.answer(made, 1.0, 401)
    assert (world.told()[0]["user"], world.told()[0]["as"]) == ("", "")
    assert world.told()[0]["tenant"] == "gone"


def test_who_acts_as_himself_is_named_once(world: World) -> None:
    made = request(MAPS)
    made.user = made.sender = User("ann", "", ())
    world.answer(made, 1.0)
    assert (world.told()[0]["user"], world.told()[0]["as"]) == ("ann", "")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("limit=5&resourceVersion=7", "?limit=5&resourceVersion=7"),
        ("labelSelector=app%3Dweb", "?labelSelector=app%3Dweb"),
        ("limit=5&continue=hunter2", "?limit=5&continue=…"),
        ("filter=self.data.x+%3D%3D+%22hunter2%22", "?filter=…"),
        ("fieldSelector=data.x%3Dhunter2", "?fieldSelector=…"),
        ("access_token=hunter2&limit=5", "?limit=5&…"),
        ("hunter2", "?…"),
        ("a=hunter2&hunter2=a", "?…"),
        ("", ""),
    ],
)
def test_no_query_tells_what_may_be_secret(world: World, query: str, shown: str) -> None:
    world.answer(request(MAPS, query), 1.0)
    assert world.told()[0]["path"] == f"{MAPS}{shown}"
    assert "hunter2" not in json.dumps(world.slow.cells())


def test_texts_are_cut(world: World) -> None:
    made = request(f"/api/v1/{'n' * 5000}", "limit=" + "9" * 5000, audit_id="i" * 5000)
    made.sender, made.meant = User("u" * 5000, "", ()), Tenant(0, "t" * 5000)
    world.answer(made, 1.0)
    assert len(json.dumps(world.slow.cells())) < 3000


def test_operators_are_told_and_tenants_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "slow", SlowRequests(lambda: START))
    answered, streamed = request(MAPS), request(MAPS, "limit=1")
    streamed.streamed_code = 499
    metrics.begin(answered)
    metrics.observe(answered, HttpResponse(b"{}", status=404), 2.0)
    metrics.begin(streamed)
    metrics.observe(streamed, None, 1.0)
    cells = metrics.snapshot(EVERYTHING)[slow_requests.NAME]
    assert [(what[-1], took) for what, (_, took) in cells] == [("404", 2.0), ("499", 1.0)]
    assert NAME not in metrics.snapshot(4711)
