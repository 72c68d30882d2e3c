"""Rounds: nothing is lost by failures, nothing is kept when nothing is left."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.controllers import rounds
from apiserver.controllers.rounds import Rounds
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import TenantGone, Unavailable
from tests.support.waiting import PATIENCE

TENANT = Tenant(1, "t")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "FIRST", 0.001)
    monkeypatch.setattr(rounds, "LONGEST", 0.004)


async def idle(under_test: Rounds) -> None:
    async with asyncio.timeout(PATIENCE):
        while under_test.busy(TENANT.id):  # noqa: ASYNC110  it tells nobody when it ends
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("error", [Unavailable("away"), ValueError("a mistake of ours")])
async def test_a_round_that_fails_is_followed_by_another(error: Exception) -> None:
    seen: list[set[str]] = []

    async def look(tenant: Tenant, names: set[str]) -> list[str]:
        seen.append(set(names))
        if len(seen) < 3:
            raise error
        return []

    under_test = Rounds(look)
    under_test.start(TENANT, ["a", "b"])
    await idle(under_test)
    assert seen == [{"a", "b"}] * 3


async def test_what_is_left_is_looked_at_again_with_what_has_come_in() -> None:
    seen: list[set[str]] = []

    async def look(tenant: Tenant, names: set[str]) -> list[str]:
        seen.append(set(names))
        if len(seen) == 1:
            under_test.start(tenant, ["new"])
            return ["left"]
        return []

    under_test = Rounds(look)
    under_test.start(TENANT, ["first"])
    await idle(under_test)
    assert seen == [{"first"}, {"left", "new"}]


@pytest.mark.parametrize("gone", [True, False])
async def test_a_tenant_that_is_gone_or_out_of_use_is_let_go(gone: bool) -> None:
    async def look(tenant: Tenant, names: set[str]) -> None:
        if gone:
            raise TenantGone("gone")

    under_test = Rounds(look)
    under_test.start(TENANT, ["a"])
    await idle(under_test)


async def test_something_new_does_not_wait_for_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "FIRST", 600.0)
    monkeypatch.setattr(rounds, "LONGEST", 600.0)
    seen: list[set[str]] = []

    async def look(tenant: Tenant, names: set[str]) -> list[str]:
        seen.append(set(names))
        return ["stuck"] if len(seen) == 1 else []

    under_test = Rounds(look)
    under_test.start(TENANT, ["stuck"])
    async with asyncio.timeout(PATIENCE):
        while not seen:  # noqa: ASYNC110  likewise
            await asyncio.sleep(0.001)
        under_test.start(TENANT, ["new"])
        await idle(under_test)
    assert seen == [{"stuck"}, {"stuck", "new"}]


async def test_stop_ends_what_runs() -> None:
    began = asyncio.Event()

    async def look(tenant: Tenant, names: set[str]) -> list[str]:
        began.set()
        await asyncio.sleep(600)
        raise AssertionError

    under_test = Rounds(look)
    under_test.start(TENANT, ["a"])
    await began.wait()
    await under_test.stop()
    assert not under_test.busy(TENANT.id)
    began.clear()
    under_test.start(TENANT, ["b"])
    await asyncio.sleep(0)
    assert not under_test.busy(TENANT.id)
    assert not began.is_set()
