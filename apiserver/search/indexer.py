"""Indexer: keeps the search index of each tenant, those of the fields that it has declared
(`apiserver.search.fieldindexer`), and how many objects it has of each resource
(`apiserver.storage.tally`), behind its log, beside all requests.

Commits know nothing of it, so no writer is slower by it but by the work that is done meanwhile. A
worker sees to the tenants that it has written to; what a worker that died has left, and tenants
that were there before there was an index, are found by looking now and then. Two workers at one
tenant do each other no harm: only who goes on from where the index stands changes it
(sql/search.sql). So the first time through a tenant is nothing but a log that has become long.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import orjson

from apiserver.registry.offload import Asker, by_size
from apiserver.registry.scope import Tenant
from apiserver.search.certificates import first_end
from apiserver.search.fieldindexer import follow
from apiserver.search.terms import terms
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import Event, ObjectKey, Store
from apiserver.storage.search import Entry, Written

log = logging.getLogger("polyplane.search")

PAUSE = 1.0
"""Seconds between a commit and its being indexed, in which others gather."""
LOOK = 60.0
"""Seconds between two looks for tenants that nobody sees to."""
BATCH, BATCH_BYTES = 500, 2**20
"""Entries of the log in one transaction."""
_MOST_FOUND = 100
_AT_A_TIME = 20
"""Batches of one tenant before the next one's turn."""


class Indexer:
    """Of one process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due: dict[int, None] = {}
        self._woken = asyncio.Event()
        self._backlog = False

    async def run_forever(self) -> None:
        self._store.observe(self._committed)
        looked = -LOOK
        while True:
            if time.monotonic() - looked >= LOOK:
                await self._look()
                looked = time.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self._woken.wait()
            await asyncio.sleep(PAUSE if not self._backlog else PAUSE / 10)
            self._woken.clear()
            self._backlog = False
            due, self._due = list(self._due), {}
            for tenant in due:  # of all of them first: it is soon done
                await self._see_to(tenant, self._store.tallies.follow)
            for tenant in due:
                await self._see_to(tenant, self._index)

    def _committed(self, tenant: int, events: Sequence[Event]) -> None:
        self._due[tenant] = None
        self._woken.set()

    async def _look(self) -> None:
        try:
            store = self._store
            for kept in (store.tallies, store.search, store.fields):
                for tenant in await kept.behind(_MOST_FOUND):
                    self._committed(tenant, ())
        except StorageError as error:
            log.info("looking for what is not indexed: %s", error)

    async def _see_to(self, tenant: int, work: Callable[[int, int], Awaitable[bool]]) -> None:
        """``work``: takes something of a tenant on by some batches; whether it is done."""
        try:
            if not await work(tenant, _AT_A_TIME):
                self._backlog = True
                self._committed(tenant, ())
        except StorageError as error:
            log.info("indexing tenant %s: %s", tenant, error)
        except Exception:  # one tenant's objects must not end the others' index
            log.exception("indexing tenant %s", tenant)

    async def _index(self, tenant: int, batches: int) -> bool:
        done = await self.index(tenant, batches)
        return await follow(self._store.fields, tenant, batches) and done

    async def index(self, tenant: int, batches: int) -> bool:
        """Goes through the log for some batches; whether its end was reached. Raises
        StorageError."""
        for _ in range(batches):
            search = self._store.search
            after, written = await search.written(tenant, limit=BATCH, max_bytes=BATCH_BYTES)
            if not written:
                return True
            asker = Asker(Tenant(tenant, ""), sum(len(w.record.data) for w in written if w.record))
            found = await by_size(asker, lambda written=written: _entries(tenant, written))  # type: ignore[misc]
            if not await search.index(tenant, after, written[-1].version, found):
                return True  # somebody else sees to it
        return False


def _entries(tenant: int, written: Sequence[Written]) -> list[Entry]:
    """Of each object one: what the last entry of the log says that has it."""
    found: dict[ObjectKey, Entry] = {}
    for _, key, record in written:
        if record is None:
            found[key] = Entry(key, None)
            continue
        obj = orjson.loads(record.data)
        found[key] = Entry(key, terms(tenant, key, obj), first_end(key, obj))
    return list(found.values())
