"""Connections that wait for their next request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable

from admission.webhooks.connection import Connection

SECONDS = 30.0


class Idle:
    """By owner and address. most, most_of_owner: connections to one address, and of one owner to
    all."""

    def __init__(self, most: int, most_of_owner: int) -> None:
        self._most, self._most_of_owner = most, most_of_owner
        self._kept: dict[tuple[int, Hashable], list[Connection]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    def take(self, owner: int, address: Hashable) -> Connection | None:
        kept = self._kept.get((owner, address), [])
        while kept:
            connection = kept.pop()
            if connection.reusable:
                return connection
            connection.abort()
        return None

    def keep(self, owner: int, address: Hashable, connection: Connection) -> None:
        kept = self._kept.get((owner, address), [])
        others = sum(len(connections) for of, connections in self._kept.items() if of[0] == owner)
        if not connection.reusable or len(kept) >= self._most or others >= self._most_of_owner:
            connection.abort()
            return
        kept.append(connection)
        self._kept[owner, address] = kept
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SECONDS, self._drop_old)

    def abort(self) -> None:
        """All of them, at once."""
        for connection in self._emptied():
            connection.abort()

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._emptied()))

    def _emptied(self) -> list[Connection]:
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        idle = [connection for kept in self._kept.values() for connection in kept]
        self._kept.clear()
        return idle

    def _drop_old(self) -> None:
        self._sweep = None
        limit = time.monotonic() - SECONDS
        for key, kept in list(self._kept.items()):
            while kept and kept[0].used < limit:  # the longest idle ones stand first
                kept.pop(0).abort()
            if not kept:
                del self._kept[key]
        if self._kept:
            self._sweep = asyncio.get_running_loop().call_later(SECONDS, self._drop_old)
