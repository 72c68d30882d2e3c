"""A rule that never ends, over an object of a hundred bytes, keeps no event loop: it gets its
answer from a thread."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest

from apiserver.cel.plan import program
from apiserver.storage.interface import Store
from tests.apiserver.registry.test_custom_resources import FOOS, define, foo
from tests.support.api import Api, serving
from tests.support.definitions import definition
from tests.support.stretch import without_garbage

PAIRS = "[[1]]" + ".map(y, [y, y])" * 26


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def test_a_small_object_of_an_endless_rule(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "PATIENCE", 1.0)
    crd = definition()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = [{"rule": f"{PAIRS} == {PAIRS}"}]
    await define(api, crd)
    with without_garbage():
        start = time.thread_time()
        status, found = await api("POST", FOOS, foo())
        assert time.thread_time() - start < 0.5
    assert status == 422
    assert "actual cost limit exceeded" in found["message"]
    assert (
        "no further validation rules will be run due to call cost exceeds limit for rule"
        in found["message"]
    )
