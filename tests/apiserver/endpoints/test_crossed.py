"""How much of the code a request crosses: files of the product in which something is called, from
the ASGI entry to the answer, without plugins of admission and without a network. Figures and how
they came about: docs/decisions/0008."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

import pytest

from apiserver.endpoints import slow_requests
from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, Api, serving
from tests.support.definitions import definition

ROOT = Path(__file__).resolve().parents[3]
MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FIRST = 4
"""So many requests of a sort fill what is kept between requests."""


_OURS = ContextVar("_OURS", default=False)


class Crossed:
    """functions: the code that was called while the context was open, here and in tasks that were
    begun here. What else the loop does meanwhile (followers of the log, timers) does not count."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()

    def __enter__(self) -> Self:
        self._token = _OURS.set(True)
        sys.setprofile(self._profile)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)
        _OURS.reset(self._token)

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and _OURS.get():
            self.functions.add(frame.f_code)

    @property
    def files(self) -> set[str]:
        packages = tuple(f"{ROOT / name}/" for name in ("apiserver", "admission", "controlplane"))
        return {c.co_filename for c in self.functions if c.co_filename.startswith(packages)}


def config_map(name: str, value: str = "x") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"a": value},
    }


def a_definition(number: int) -> dict[str, Any]:
    return definition({"type": "object"}, kind=f"Foo{number}")


Step = Callable[[Api, int], Awaitable[tuple[int, Any]]]
WALKS: dict[str, tuple[int, Step]] = {
    "POST": (97, lambda api, i: api("POST", MAPS, config_map(f"p{i}"))),
    "apply": (
        105,
        lambda api, i: api(
            "PATCH", f"{MAPS}/p?fieldManager=me&force=true", config_map("p", str(i)), TYPES["apply"]
        ),
    ),
    "GET": (44, lambda api, i: api("GET", f"{MAPS}/p")),
    "LIST": (48, lambda api, i: api("GET", MAPS)),
    "CRD": (113, lambda api, i: api("POST", DEFINITIONS, a_definition(i))),
    "DELETE": (66, lambda api, i: api("DELETE", f"{MAPS}/p{i}")),
}


@pytest.fixture(autouse=True)
def as_slow_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slowest requests are described one by one (`slow_requests`). Whether the one that is
    looked at is among them depends on the machine, and on which tests came before."""
    nothing = ("",) * 7
    monkeypatch.setattr(slow_requests, "_described", lambda request, code: nothing)


@pytest.mark.parametrize("walk", WALKS)
async def test_a_request_does_not_cross_more_and_more_files(
    store: PostgresStore, tenant: int, walk: str
) -> None:
    most, step = WALKS[walk]
    async with serving(store, tenant) as api:
        for name in ("p", *(f"p{i}" for i in range(FIRST + 1))) if walk != "POST" else ():
            await api.ok("POST", MAPS, config_map(name))
        for i in range(FIRST):
            assert (await step(api, i))[0] < 300
        with Crossed() as crossed:
            status, answer = await step(api, FIRST)
    assert status < 300, answer
    assert most * 3 // 4 < len(crossed.files) <= most, "a way that grows wants a reason"
