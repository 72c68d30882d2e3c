"""Many open watch streams in one process: events are counted, not parsed; one stream in ten is
looked at for the lag."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import cast

from tests.benchmarks.client import Site, request, tls
from tests.support.waiting import PATIENCE

_SENT = re.compile(rb'"sent":"(\d+)"')
_LOOKED_AT = 10
"""Every tenth stream measures the lag."""
_AT_ONCE = 20  # handshakes


class Watcher(asyncio.Protocol):
    """events: complete ones so far; lags: seconds from the sending of the write to the arrival of
    its event, where ``measures``."""

    def __init__(self, measures: bool) -> None:
        self.events = 0
        self.lags: list[float] = []
        self._measures = measures
        self._ended_with_brace = False
        self._transport: asyncio.Transport | None = None
        self.open = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class

    def ask(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self.open.done():
            if b" 200 " not in data[:16]:
                self.open.set_exception(RuntimeError(f"no watch: {data[:300]!r}"))
                return
            self.open.set_result(None)
        self.events += data.count(b"}\n") + (self._ended_with_brace and data[:1] == b"\n")
        self._ended_with_brace = data[-1:] == b"}"
        if self._measures:
            now = time.monotonic_ns()
            self.lags += [(now - int(sent)) / 1e9 for sent in _SENT.findall(data)]

    def connection_lost(self, error: Exception | None) -> None:
        if not self.open.done():
            self.open.set_exception(ConnectionError("the server closed the stream"))


class Crowd:
    """Streams of the same path."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = watchers

    @classmethod
    async def open(cls, site: Site, path: str, count: int) -> Crowd:
        """All are connected before the first one asks: a server that streams already would take its
        time for the handshakes."""
        loop = asyncio.get_running_loop()

        async def connect(measures: bool) -> Watcher:
            return (
                await loop.create_connection(
                    lambda: Watcher(measures), "127.0.0.1", site.port, ssl=tls()
                )
            )[1]

        watchers: list[Watcher] = []
        for first in range(0, count, _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, count))
            watchers += await asyncio.gather(*(connect(i % _LOOKED_AT == 0) for i in some))
        data = request(site, "GET", path)
        for watcher in watchers:
            watcher.ask(data)
        await asyncio.wait_for(asyncio.gather(*(w.open for w in watchers)), PATIENCE)
        return cls(watchers)

    def __len__(self) -> int:
        return len(self._watchers)

    @property
    def events(self) -> int:
        return sum(w.events for w in self._watchers)

    def slowest(self) -> int:
        """Events of the stream that is furthest behind."""
        return min(w.events for w in self._watchers)

    def take_lags(self) -> list[float]:
        lags = [lag for w in self._watchers for lag in w.lags]
        for w in self._watchers:
            w.lags = []
        return lags

    def close(self) -> None:
        for w in self._watchers:
            w.abort()
