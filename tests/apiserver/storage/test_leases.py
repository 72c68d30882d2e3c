"""Duties that one process of the installation does, again and again."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest

from apiserver.storage import leases
from apiserver.storage.errors import Unavailable
from apiserver.storage.leases import repeat


class Elections:
    """A candidate with what comes of each election."""

    def __init__(self, *outcomes: bool) -> None:
        self._outcomes = iter(outcomes)

    async def elected(self, name: str) -> bool:
        assert name == "duty"
        return next(self._outcomes)


async def test_work_is_done_where_one_is_elected_and_again_after_it_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    did: list[str] = []
    pauses: list[float] = []

    async def work() -> None:
        did.append("once more")
        if len(did) == 1:
            raise Unavailable("not now")

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(leases.asyncio, "sleep", sleep)
    candidate = cast(Any, Elections(False, True, True))
    with pytest.raises(asyncio.CancelledError), caplog.at_level(logging.WARNING):
        await repeat(candidate, "duty", work, 600.0, logging.getLogger("test"), "what is done")
    assert pauses == [600.0, 60.0, 600.0]
    assert len(did) == 2, "not by who was not elected"
    assert [record.getMessage() for record in caplog.records] == ["what is done: not now"]
