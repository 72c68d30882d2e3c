"""What tenants use comes into the status of their objects, and holds nobody up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.db import DatabaseError

from admission.plugins.tenants import TENANTS
from controlplane.tenancy import controller as controllers
from controlplane.tenancy import rows
from controlplane.tenancy.counting import Counting
from tests.controlplane.tenancy.test_controller import Home
from tests.controlplane.tenancy.test_controller import home as home


async def test_a_new_tenant_says_what_it_uses_as_soon_as_it_is_ready(home: Home) -> None:
    await home.make(TENANTS, "counted-at-once")
    await home.ready("counted-at-once")
    obj = await home.get("counted-at-once")
    assert obj is not None
    assert set(obj["status"]["counts"]) == {"objects", "bytes", "logBytes"}


async def test_tenants_are_made_while_others_are_counted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def endless(self: Counting, *_: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Counting, "tell", endless)
    monkeypatch.setattr(controllers, "EVERY", 0.0)
    home.tenancy._task.cancel()  # type: ignore[union-attr]  it has been started
    home.tenancy.start()
    await asyncio.wait_for(begun.wait(), 60)
    await home.make(TENANTS, "beside")
    await home.ready("beside")


async def test_who_cannot_be_counted_is_counted_the_next_time(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        await home.make(TENANTS, name)
        await home.ready(name)
    counting, change = home.tenancy._counting, home.actions.change

    async def refuse(tenant: Any, key: Any, *arguments: Any) -> Any:
        if key.name == "first":
            raise DatabaseError("not now")
        return await change(tenant, key, *arguments)

    monkeypatch.setattr(home.actions, "change", refuse)
    used = {"first": (7, 70, 700), "second": (8, 80, 800)}
    with pytest.raises(DatabaseError):
        await counting.tell(home.tenant, used)
    assert (await home.get("second") or {})["status"]["counts"]["objects"] == 8
    monkeypatch.undo()
    await counting.tell(home.tenant, used)
    assert (await home.get("first") or {})["status"]["counts"]["objects"] == 7


async def test_rows_that_cannot_be_made_are_tried_after_growing_pauses(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Any) -> Any:
        raise DatabaseError("not now")

    make = rows.make
    monkeypatch.setattr(rows, "make", broken)
    await home.make(TENANTS, "unlucky")

    async def thrice() -> bool:
        return home.tenancy._failures.get("unlucky", 0) >= 3

    await home.until(thrice)
    monkeypatch.setattr(rows, "make", make)
    await home.ready("unlucky")
    assert "unlucky" not in home.tenancy._failures
