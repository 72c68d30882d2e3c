"""What a process remembers of the tenants that it has seen has an end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.registry import seeding
from apiserver.registry.scope import Tenant


async def test_a_tenant_is_looked_at_once_and_all_are_forgotten_when_they_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    class Store:
        async def get(self, tenant: int, key: Any) -> object:
            asked.append(tenant)
            return object()

    monkeypatch.setattr(seeding, "_MOST", 2)
    seeder = seeding.Seeder(cast(Any, SimpleNamespace(store=Store())))
    for number in (1, 1, 2, 1, 3, 1):
        await seeder.ensure(Tenant(number, f"t{number}"))
    assert asked == [1, 2, 3, 1]
