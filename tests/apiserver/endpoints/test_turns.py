"""The users of one tenant whose requests have work beside the loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from apiserver.endpoints.server import Defaults
from apiserver.registry import offload
from apiserver.registry.flowcontrol import FlowControl
from apiserver.registry.offload import LARGE, Asker, beside
from apiserver.storage.interface import Store
from tests.support.api import Api, serving
from tests.support.flows import flow_schema
from tests.support.waiting import until

_ROOT = "/apis/flowcontrol.apiserver.k8s.io/v1"
_CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
_MANY = 50


def _level(name: str, shares: int) -> dict[str, Any]:
    limited = {"nominalConcurrencyShares": shares, "limitResponse": {"type": "Reject"}}
    return {"metadata": {"name": name}, "spec": {"type": "Limited", "limited": limited}}


def _schema(name: str, level: str, precedence: int, group: str) -> dict[str, Any]:
    everything = {"apiGroups": ["*"], "resources": ["*"], "clusterScope": True}
    return flow_schema(name, level, precedence, group, everything)


async def _prepare(api: Api) -> None:
    """Users go to the level "people", those of the group "controllers" to "machines"."""
    await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
    for level, shares in (("people", 400), ("machines", 100)):
        await api.ok("POST", f"{_ROOT}/prioritylevelconfigurations", _level(level, shares))
    for schema in (
        _schema("people", "people", 200, "system:authenticated"),
        _schema("machines", "machines", 100, "controllers"),
    ):
        await api.ok("POST", f"{_ROOT}/flowschemas", schema)
    api.server.defaults = Defaults(inflight=600)
    api.server.flows = FlowControl(api.registry.watches)


async def test_a_large_object_waits_for_no_fifty_of_another_user(store: Store, tenant: int) -> None:
    """Creates have several steps beside the loop: whoever comes second has done all of his before
    the fifty of another have done their first."""
    async with serving(store, tenant) as api:
        await _prepare(api)
        started, finish = threading.Event(), threading.Event()
        answered: list[str] = []

        def hold() -> None:
            started.set()
            while not finish.wait(0.01):
                pass

        async def create(user: str, name: str, group: str = "people") -> None:
            obj = {"metadata": {"name": name}, "data": {"d": "x" * LARGE}}
            headers = {"impersonate-user": user, "impersonate-group": group}
            await api.ok("POST", _CONFIGMAPS, obj, **headers)
            answered.append(user)

        def waiting() -> int:
            return offload._offload().turns.waiting

        holder = asyncio.create_task(beside(Asker(api.tenant), hold))
        await until(started.is_set)
        tasks = [asyncio.create_task(create("ann", f"ann-{i}")) for i in range(_MANY)]
        await until(lambda: waiting() == _MANY)
        tasks.append(asyncio.create_task(create("bob", "bob")))
        tasks.append(asyncio.create_task(create("robot", "robot", "controllers")))
        await until(lambda: waiting() == _MANY + 2)
        finish.set()
        await asyncio.gather(holder, *tasks)
        assert set(answered[:2]) == {"bob", "robot"}
        assert answered[2:] == ["ann"] * _MANY
