"""Priority and fairness in the way of a request: seats, queues, headers, and what is told of
them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.endpoints.filters import fairness
from apiserver.endpoints.server import Defaults
from apiserver.flow.levels import Level
from apiserver.registry.flowcontrol import FlowControl
from apiserver.storage.interface import Store
from tests.support.api import Api, serving
from tests.support.flows import flow_schema
from tests.support.waiting import until, until_true

_ROOT = "/apis/flowcontrol.apiserver.k8s.io/v1"
_CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
_FLOWSCHEMA, _LEVEL = "x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"
_DEBUG = "/debug/api_priority_and_fairness/"


class Gate:
    """An authorizer that holds requests for ConfigMaps up."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.held = 0

    async def authorize(self, tenant: Any, attributes: Attributes) -> Decision:
        if attributes.resource == "configmaps" and not self.open.is_set():
            self.held += 1
            await self.open.wait()
        return Decision(True)


@asynccontextmanager
async def world(store: Store, tenant: int) -> AsyncIterator[tuple[Api, Gate]]:
    """Requests by anonymous go to the level "narrow", which has one seat and a queue of one."""
    gate = Gate()
    async with serving(store, tenant) as api:
        api.server.authorizer = cast(Any, gate)
        await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
        await api.ok("POST", f"{_ROOT}/prioritylevelconfigurations", _level("narrow"))
        await api.ok("POST", f"{_ROOT}/flowschemas", _schema("strangers", "narrow"))
        api.server.defaults = Defaults(inflight=4)
        api.server.flows = FlowControl(api.registry.watches)
        yield api, gate


def _level(name: str, length: int = 1) -> dict[str, Any]:
    queuing = {"queues": 1, "handSize": 1, "queueLengthLimit": length}
    limited = {
        "nominalConcurrencyShares": 1,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Queue", "queuing": queuing},
    }
    return {"metadata": {"name": name}, "spec": {"type": "Limited", "limited": limited}}


def _schema(name: str, level: str, precedence: int = 100) -> dict[str, Any]:
    maps = {"apiGroups": [""], "resources": ["configmaps"]}
    return flow_schema(name, level, precedence, "system:unauthenticated", maps)


def _narrow(api: Api) -> Level:
    flows = api.server.flows
    assert flows is not None
    return flows.controls[api.tenant.id].levels.levels["narrow"]


async def _uid(api: Api, resource: str, name: str) -> str:
    found = await api.ok("GET", f"{_ROOT}/{resource}/{name}")
    return str(found["metadata"]["uid"])


async def test_answers_name_schema_and_level(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, _):
        schema = await _uid(api, "flowschemas", "strangers")
        level = await _uid(api, "prioritylevelconfigurations", "narrow")
        for name, code in (("", 200), ("/missing", 404)):
            status, _ = await api("GET", _CONFIGMAPS + name)
            assert (status, api.headers[_FLOWSCHEMA], api.headers[_LEVEL]) == (code, schema, level)
        await api("GET", "/api/v1/namespaces")
        assert api.headers[_FLOWSCHEMA] == "", "the catch-all that this tenant has no object of"
        await api("GET", "/api/v1/namespaces/default/pods/p/log")
        assert _FLOWSCHEMA not in api.headers, "long-running requests are nobody's"


async def test_switched_off_nothing_is_told(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, _):
        api.server.flows = None
        await api("GET", _CONFIGMAPS)
        assert _FLOWSCHEMA not in api.headers
        assert (await api("GET", f"{_DEBUG}dump_queues"))[0] == 404


async def test_a_new_schema_counts_at_once(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, _):
        await api("GET", _CONFIGMAPS)
        await api.ok("POST", f"{_ROOT}/flowschemas", _schema("sooner", "narrow", 50))
        uid = await _uid(api, "flowschemas", "sooner")

        async def counts() -> bool:
            await api("GET", _CONFIGMAPS)
            return api.headers[_FLOWSCHEMA] == uid

        await until_true(counts)


async def test_who_finds_no_seat_waits_and_then_is_refused(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, gate):
        await api("GET", _CONFIGMAPS)
        gate.open.clear()
        served = [asyncio.create_task(api("GET", _CONFIGMAPS)) for _ in range(2)]
        await until(lambda: gate.held and _narrow(api).queues.waiting)
        assert (gate.held, _narrow(api).queues.waiting) == (1, 1)
        status, body = await api("GET", _CONFIGMAPS)
        assert (status, body) == (429, b"Too many requests, please try again later.\n")
        assert api.headers["retry-after"] == "1"
        assert api.headers["content-type"] == "text/plain; charset=utf-8"
        assert api.headers[_FLOWSCHEMA]
        gate.open.set()
        assert [status for status, _ in await asyncio.gather(*served)] == [200, 200]
        assert _narrow(api).queues.idle


async def test_who_waits_too_long_is_refused(
    store: Store, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(store, tenant) as (api, gate):
        await api("GET", _CONFIGMAPS)
        gate.open.clear()
        served = asyncio.create_task(api("GET", _CONFIGMAPS))
        await until(lambda: gate.held)
        monkeypatch.setattr(fairness, "REQUEST_SECONDS", 0.04)
        assert (await api("GET", _CONFIGMAPS))[0] == 429
        counts = _narrow(api).queues
        assert (counts.waiting, counts.cancelled) == (0, 1)
        gate.open.set()
        assert (await served)[0] == 200


async def test_who_leaves_leaves_the_queue(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, gate):
        await api("GET", _CONFIGMAPS)
        gate.open.clear()
        served = asyncio.create_task(api("GET", _CONFIGMAPS))
        await until(lambda: gate.held)
        going = asyncio.Event()
        leaving = asyncio.create_task(api.leaving("GET", _CONFIGMAPS, None, going))
        await until(lambda: _narrow(api).queues.waiting)
        going.set()
        await leaving
        assert _narrow(api).queues.waiting == 0
        gate.open.set()
        assert (await served)[0] == 200
        assert gate.held == 1


async def test_a_task_that_is_cancelled_leaves_the_queue(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, gate):
        await api("GET", _CONFIGMAPS)
        gate.open.clear()
        served = asyncio.create_task(api("GET", _CONFIGMAPS))
        await until(lambda: gate.held)
        waiting = asyncio.create_task(api("GET", _CONFIGMAPS))
        await until(lambda: _narrow(api).queues.waiting)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        gate.open.set()
        assert (await served)[0] == 200
        assert _narrow(api).queues.idle
        assert (await api("GET", _CONFIGMAPS))[0] == 200


async def test_a_watch_gives_its_seats_back_when_it_has_begun(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, _):
        await api.ok("POST", _CONFIGMAPS, {"metadata": {"name": "one"}})
        watch = api.watch(f"{_CONFIGMAPS}?watch=true")
        assert await watch.take(1)
        flows = api.server.flows
        assert flows is not None
        control = flows.controls[api.tenant.id]
        await until(lambda: control.levels.levels["narrow"].queues.idle)
        assert (await api("GET", _CONFIGMAPS))[0] == 200
        info = SimpleNamespace(group="", resource="configmaps", namespace="default", name="")
        assert control.watchers.of(cast(Any, info)) == 1
        await watch.stop()
        assert control.watchers.of(cast(Any, info)) == 0


async def test_what_is_told_of_it(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, gate):
        await api("GET", _CONFIGMAPS)
        gate.open.clear()
        served = [asyncio.create_task(api("GET", _CONFIGMAPS)) for _ in range(2)]
        await until(lambda: gate.held and _narrow(api).queues.waiting)
        tables = {}
        for name in ("levels", "queues", "requests"):
            path = f"{_DEBUG}dump_{'priority_levels' if name == 'levels' else name}"
            _, text = await api("GET", f"{path}?includeRequestDetails=1")
            lines = text.decode().splitlines()
            tables[name] = [[c.strip() for c in line.split(", ")] for line in lines]
        narrow = next(row for row in tables["levels"] if row[0] == "narrow")
        assert narrow[1:] == ["1", "false", "false", "1", "1", "2", "0", "0", "0"]
        assert ["narrow", "0", "1", "1", "1"] in [row[:5] for row in tables["queues"]]
        places = [row[:5] for row in tables["requests"] if row[0] == "narrow"]
        who = "system:anonymous"
        assert places == [
            ["narrow", "strangers", "0", "0", ""],
            ["narrow", "strangers", "0", "-1", ""],
        ], "there is one queue, so flows are not told apart"
        assert {row[10] for row in tables["requests"][1:]} == {who}
        _, metrics = await api("GET", "/metrics")
        labels = b'{priority_level="narrow",flow_schema="strangers"}'
        for line in (
            b"dispatched_requests_total" + labels + b" 2",
            b"current_inqueue_requests" + labels + b" 1",
            b"current_executing_seats" + labels + b" 1",
            b'current_limit_seats{priority_level="narrow"} 1',
            b'dispatch_r{priority_level="narrow"} ',
            b'latest_s{priority_level="narrow"} ',
            b'next_s_bounds{priority_level="narrow",bound="min"} ',
            b'next_discounted_s_bounds{priority_level="narrow",bound="max"} ',
        ):
            assert b"apiserver_flowcontrol_" + line in metrics
        gate.open.set()
        await asyncio.gather(*served)


_TIMES = {
    "demand_seats": ('priority_level="narrow"',),
    "priority_level_seat_utilization": ('phase="executing",priority_level="narrow"',),
    "priority_level_request_utilization": (
        'phase="waiting",priority_level="narrow"',
        'phase="executing",priority_level="narrow"',
    ),
    "read_vs_write_current_requests": tuple(
        f'phase="{phase}",request_kind="{kind}"'
        for phase in ("waiting", "executing")
        for kind in ("readOnly", "mutating")
    ),
}


async def test_times_are_told_in_nanoseconds(store: Store, tenant: int) -> None:
    async with world(store, tenant) as (api, gate):
        await api("GET", _CONFIGMAPS)
        began = time.monotonic()
        gate.open.clear()
        served = [asyncio.create_task(api("GET", _CONFIGMAPS)) for _ in range(2)]
        await until(lambda: gate.held and _narrow(api).queues.waiting)
        await until(lambda: time.monotonic() > began + 0.01)
        passed = (time.monotonic() - began) * 1e9
        _, metrics = await api("GET", "/metrics")
        found = dict(line.rsplit(" ", 1) for line in metrics.decode().splitlines())
        for name, places in _TIMES.items():
            assert found[f"# TYPE apiserver_flowcontrol_{name}"] == "histogram"
            for place in places:
                series = f"apiserver_flowcontrol_{name}_"
                count = found[f"{series}count{{{place}}}"]
                assert count.isdigit() and int(count) >= passed
                assert found[f'{series}bucket{{{place},le="+Inf"}}'] == count
        reads = 'read_vs_write_current_requests_sum{phase="%s",request_kind="%s"}'
        for phase in ("waiting", "executing"):
            assert float(found["apiserver_flowcontrol_" + reads % (phase, "readOnly")]) > 0
        assert found["apiserver_flowcontrol_" + reads % ("waiting", "mutating")] == "0"
        gate.open.set()
        await asyncio.gather(*served)


async def test_who_is_served_refused_or_gone_is_no_longer_counted(
    store: Store, tenant: int
) -> None:
    async with world(store, tenant) as (api, gate):
        await api("GET", _CONFIGMAPS)
        await api("POST", _CONFIGMAPS, {"metadata": {"name": "one"}})
        gate.open.clear()
        served = [asyncio.create_task(api("GET", _CONFIGMAPS)) for _ in range(2)]
        await until(lambda: gate.held and _narrow(api).queues.waiting)
        assert (await api("GET", _CONFIGMAPS))[0] == 429
        assert _numbers(api) == [1, 0, 1, 0]
        served[1].cancel()
        await asyncio.gather(served[1], return_exceptions=True)
        assert _numbers(api) == [0, 0, 1, 0]
        gate.open.set()
        await served[0]
        watch = api.watch(f"{_CONFIGMAPS}?watch=true")
        assert await watch.take(1)
        await until(lambda: _numbers(api) == [0, 0, 0, 0])
        await watch.stop()
        assert _numbers(api) == [0, 0, 0, 0]


def _numbers(api: Api) -> list[int]:
    flows = api.server.flows
    assert flows is not None
    return flows.controls[api.tenant.id].levels.traffic._numbers


async def test_an_idle_tenant_is_forgotten_and_its_counts_are_not(
    store: Store, tenant: int
) -> None:
    async with world(store, tenant) as (api, _):
        await api("GET", _CONFIGMAPS)
        flows = api.server.flows
        assert flows is not None
        flows.forget(api.tenant.id)
        assert not flows.controls
        assert flows.past.of("narrow", "strangers").dispatched == 1
        assert (await api("GET", _CONFIGMAPS))[0] == 200
