"""The end of a watch stream: a last bookmark says how far it came."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.codec import negotiate
from apiserver.endpoints import consumers
from apiserver.endpoints.consumers import Stream
from apiserver.endpoints.server import Server
from apiserver.endpoints.watch_frames import Frames
from apiserver.endpoints.watchdog import Right
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.watching import Watching
from apiserver.user import User

RESOURCE = catalog.resources()[GroupResource("", "configmaps")]
SCOPE = Scope(Tenant(1, "t"), RESOURCE, RESOURCE.versions["v1"], User("ann"))


class Clock:
    """Time that passes only while somebody waits, so that no other program takes any of it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Quiet:
    """A subscription to which nothing happens."""

    synced, start = True, 5

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def next(self, seconds: float) -> list[Any]:
        self._clock.now += seconds
        return []

    def position(self) -> int:
        return 9

    def cancel(self) -> None:
        pass


class Marks:
    def bookmark(self, version: int, *, initial: bool = False) -> bytes:
        return f"{'end of state' if initial else 'bookmark'} {version};".encode()


async def sent(
    *,
    seconds: float,
    bookmarks: bool = True,
    initial: bool = False,
    not_before: int = 0,
    frames: Frames | None = None,
) -> bytes:
    server = SimpleNamespace(
        stopping=False, watchdog=SimpleNamespace(guard=lambda *_: contextlib.nullcontext())
    )
    watching = Watching(cast(Any, Quiet(cast(Any, consumers).time)), initial, bookmarks, not_before)
    stream = Stream(
        cast(Server, server),
        SCOPE,
        frames or cast(Frames, Marks()),
        watching,
        seconds,
        Right("t", 1, ""),
    )
    return b"".join([frame async for frames in stream.batches() for frame in frames])


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "time", Clock())


async def test_a_bookmark_comes_before_the_end() -> None:
    assert await sent(seconds=5.0) == b"bookmark 9;"
    assert await sent(seconds=5.0, initial=True) == b"end of state 5;bookmark 9;"


async def test_no_event_is_a_list_so_that_one_asked_for_as_such_ends_the_stream() -> None:
    kind = negotiate.Accepted(
        negotiate.JSON,
        convert=GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadataList"),
    )
    frames = Frames(cast(Any, None), SCOPE, kind, "")
    assert await sent(seconds=60, initial=True, frames=frames) == b""


async def test_a_watch_that_is_too_short_for_one_has_none() -> None:
    assert await sent(seconds=1.0) == b""


async def test_nobody_is_told_what_was_not_asked_for_or_is_known() -> None:
    assert await sent(seconds=5.0, bookmarks=False) == b""
    assert await sent(seconds=5.0, not_before=9) == b""
