"""Annotations of slow requests."""

from __future__ import annotations

import time

import orjson
import pytest

from apiserver.audit import latencies
from apiserver.audit.latencies import AUTHORIZATION, MUTATING, VALIDATING
from apiserver.audit.policy import COMPLETE, DEFAULT, RECEIVED, Level, Verdict
from apiserver.audit.trail import Trail
from apiserver.request import parse_request
from apiserver.storage.postgres import PostgresStore
from tests.support.api import serving
from tests.support.auditworld import MAPS, World

PREFIX = "apiserver.latency.k8s.io/"


def trail(seconds_ago: float, *, watch: bool = False) -> Trail:
    info = parse_request("GET", "/api/v1/namespaces/ns/configmaps", watch=watch)
    received = time.time() - seconds_ago
    return Trail(Verdict(Level.METADATA), "t", info, None, audit_id="", received=received)


def told(made: Trail, stage: str = COMPLETE) -> dict[str, str]:
    notes = orjson.loads(made.event(stage, 200))["annotations"]
    return {key.removeprefix(PREFIX): v for key, v in notes.items() if key.startswith(PREFIX)}


def test_webhooks_one_after_the_other_add_up_and_of_those_at_once_the_longest_counts() -> None:
    delays: dict[str, float] = {}
    for seconds in (0.25, 0.5, 0.125):
        latencies.add(delays, MUTATING, seconds)
        latencies.add(delays, VALIDATING, seconds)
    assert delays == {MUTATING: 0.875, VALIDATING: 0.5}


def test_what_took_no_time_is_not_told() -> None:
    assert latencies.noted({MUTATING: 0.625, AUTHORIZATION: 0.0}, 0.75) == {
        PREFIX + "mutating-webhook": "625ms",
        PREFIX + "total": "750ms",
    }
    assert latencies.noted({MUTATING: 0.4}, 0.5) == {}


def test_the_last_event_of_a_slow_request_has_them() -> None:
    made = trail(0.75)
    latencies.add(made.delays, AUTHORIZATION, 0.25)
    assert told(made, RECEIVED) == {}
    notes = told(made)
    assert notes.pop("total").endswith("ms") and notes == {"authorization": "250ms"}
    assert told(trail(0.1)) == told(trail(2, watch=True)) == {}


async def test_filters_and_storage_are_measured(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latencies, "SLOW", 0.0)
    async with serving(store, tenant) as api:
        world = World(api, store, DEFAULT)
        made = {"metadata": {"name": "a"}}
        assert await world("POST", MAPS, made, impersonate_user="jane") == 201
        notes = world.heard.events[-1]["annotations"]
        (entry,) = await world.entries(verb="create")
    layers = {n.removeprefix(PREFIX) for n in notes if n.startswith(PREFIX)}
    before = {"authentication", "impersonation", "authorization", "total"}
    assert layers == before | {"etcd", "response-write"}
    told = entry["data"]["annotations"]
    assert {n.removeprefix(PREFIX) for n in told if n.startswith(PREFIX)} == before
