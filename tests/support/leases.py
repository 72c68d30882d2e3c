"""Leases of which a test decides when they run out, instead of the clock."""

from __future__ import annotations

import pytest

from apiserver.storage import leases
from apiserver.storage.pool import Database


def refused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of leases that somebody asked for and another one had: it grows."""
    names: list[str] = []
    acquire = leases.acquire

    async def noting(database: Database, name: str, holder: str, seconds: float) -> bool:
        granted = await acquire(database, name, holder, seconds)
        if not granted:
            names.append(name)
        return granted

    monkeypatch.setattr(leases, "acquire", noting)
    return names


async def runs_out(database: Database, name: str, holder: str) -> None:
    """As when the holder has died and its time is over."""
    assert await leases.acquire(database, name, holder, 0.0), "another one has it"
