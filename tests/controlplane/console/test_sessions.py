"""Sessions of the console as the gateway asks for them: what happens while nobody can say whose one
is, and while many ask."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import OperationalError

from apiserver.endpoints.request import Message
from apiserver.errors import ApiError
from apiserver.user import User
from controlplane.console.gateway import Gateway
from controlplane.console.sessions import Crowded, Sessions
from tests.support.api import receive_of
from tests.support.waiting import PATIENCE

ANN = User("ann", "console:7")


async def test_a_watch_ends_with_its_session_whatever_befalls_the_database_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = [ANN, OperationalError("it restarts"), Crowded(), ANN, None]
    monkeypatch.setattr("controlplane.console.gateway.REMEMBERED", 0.0)
    async with asyncio.timeout(PATIENCE):
        assert await told(looks) == [ANN]
    assert not looks


@pytest.mark.parametrize("problem", [OperationalError("it is away"), Crowded()])
async def test_who_cannot_be_told_is_asked_to_try_again(problem: Exception) -> None:
    (refusal,) = await told([problem])
    assert refusal.code == 503


async def told(looks: list[Any]) -> list[Any]:
    """Whom the API is told to serve by a gateway whose sessions say ``looks``, one after the other.
    It returns when a watch by him has ended."""
    found: list[Any] = []

    async def user(key: str) -> User | None:
        look = looks.pop(0)
        if isinstance(look, Exception):
            raise look
        return cast("User | None", look)

    async def api(who: Any, scope: Message, receive: Any, send: Any) -> None:
        found.append(who)
        while not isinstance(who, ApiError) and (await receive())["type"] != "http.disconnect":
            pass

    gateway = Gateway(cast(Any, None), api, cast(Any, SimpleNamespace(user=user)))
    headers = [(b"sec-fetch-site", b"same-origin"), (b"cookie", b"polyplane_session=k")]
    scope = {"type": "http", "method": "GET", "path": "/admin/api/x", "headers": headers}
    await gateway(scope, receive_of(b""), cast(Any, None))
    return found


async def test_inventors_of_cookies_hold_up_nobody_who_has_logged_in() -> None:
    free = threading.Event()

    def find(key: str) -> Any:
        if key == "good":
            return ANN
        free.wait(PATIENCE)
        return None

    sessions, clock = Sessions(find, lambda: clock[0]), [0.0]
    async with asyncio.timeout(PATIENCE):
        assert await sessions.user("good") == ANN
        strangers = [asyncio.create_task(sessions.user(f"k{number}")) for number in range(50)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(Crowded):
            await sessions.user("one too many")
        clock[0] = 10.0
        assert await sessions.user("good") == ANN
        free.set()
        assert await asyncio.gather(*strangers) == [None] * 50
        assert await sessions.user("one too many") is None
