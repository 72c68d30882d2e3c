"""Uses of tokens are noted beside requests, for one tenant as for another."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from apiserver.controllers import tokenuses
from apiserver.controllers.actions import Actions
from apiserver.controllers.tokenuses import AT_ONCE_OF_ONE, TokenUses
from apiserver.errors import BadRequest
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey

ONE, OTHER = Tenant(1, "one"), Tenant(2, "other")


class Changes:
    """Notes wait for ``go``, and fail if ``refuses``."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.begun: list[tuple[str, str]] = []
        self.go, self._refuses = asyncio.Event(), refuses

    async def change(self, tenant: Tenant, key: ObjectKey, *_: Any, **__: Any) -> None:
        self.begun.append((tenant.name, key.name))
        await self.go.wait()
        if self._refuses:
            raise BadRequest("no")


def uses(changes: Changes) -> TokenUses:
    return TokenUses(cast(Actions, changes))


async def turns() -> None:
    """All that can go on has done so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_tenant_whose_notes_take_long_has_few_under_way() -> None:
    changes = Changes()
    noted = uses(changes)
    for i in range(tokenuses.AT_ONCE):
        noted.used(ONE, "ns", f"s{i}")
        noted.used(ONE, "ns", f"s{i}")
    noted.used(OTHER, "ns", "s")
    await turns()
    assert changes.begun == [*(("one", f"s{i}") for i in range(AT_ONCE_OF_ONE)), ("other", "s")]
    changes.go.set()
    await turns()
    noted.used(ONE, "ns", "next")
    await turns()
    assert changes.begun[-1] == ("one", "next")
    await noted.stop()


async def test_what_failed_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenuses, "_MOST_FAILED", 2)
    changes = Changes(refuses=True)
    changes.go.set()
    noted = uses(changes)
    for name in ("a", "b", "a", "b", "c", "b", "a"):
        noted.used(ONE, "ns", name)
        await turns()
    assert [name for _, name in changes.begun] == ["a", "b", "c", "a"], "a is forgotten for c"


async def test_it_is_tried_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenuses, "AGAIN", 0.0)
    changes = Changes(refuses=True)
    changes.go.set()
    noted = uses(changes)
    for _ in range(2):
        noted.used(ONE, "ns", "a")
        await turns()
    assert len(changes.begun) == 2
