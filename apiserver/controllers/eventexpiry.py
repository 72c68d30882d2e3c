"""Events end when nobody has written them for an hour (kube-apiserver's --event-ttl).

One process does it for all tenants, page by page in turns, and rests for as long as it works: a
tenant with a million of them holds up nobody's requests, and no other tenant's turn for longer than
a page. As when a lease of etcd runs out, nobody is asked: no admission, no finalizer. An Event that
is written again meanwhile stays, because what ends is the very state that was too old.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

from apiserver.controllers import names
from apiserver.controllers.upkeep import TurnedOff
from apiserver.storage import expiry
from apiserver.storage.errors import KeyMissing, Stale, StorageError, TenantGone
from apiserver.storage.expiry import Entry
from apiserver.storage.interface import Record, Write
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore

log = logging.getLogger("polyplane.controllers")

TTL = 3600
EVERY = 5.0
"""Seconds between two looks for what is due."""
PAGE = 256
_BYTES = 2**20
"""Of objects that are read at a time."""
LEASE = "event-expiry"


class EventExpiry:
    """ttl: seconds since the last write."""

    def __init__(
        self, store: PostgresStore, candidate: Candidate, turned_off: TurnedOff, ttl: float = TTL
    ) -> None:
        self._store, self._candidate, self._turned_off = store, candidate, turned_off
        self._ttl = ttl
        self._seen: dict[int, int] = {}

    async def run_forever(self) -> None:
        """Until it is cancelled."""
        keep = partial(self._candidate.elected, LEASE)
        while True:
            await asyncio.sleep(EVERY)
            try:
                while await keep() and await self.round(keep):
                    pass
            except StorageError as e:
                log.info("events that are too old wait: %s", e)
            except Exception:
                log.exception("ending events failed")

    async def round(self, keep: Callable[[], Awaitable[bool]] | None = None) -> bool:
        """One page of each tenant that has something due: whether there was any. keep: awaited
        before each tenant; False ends the round. Raises StorageError."""
        tenants = await expiry.due(self._store.database, self._seen, self._ttl)
        some = False
        for tenant in tenants:
            if keep is not None and not await keep():
                return False
            began = time.monotonic()
            if names.EVENT_TTL not in await self._turned_off(tenant):
                some = await self._page(tenant) or some
                await asyncio.sleep(time.monotonic() - began)
        return some

    async def _page(self, tenant: int) -> bool:
        """What fails is found again: the place moves on behind what is done."""
        seen = self._seen.get(tenant, 0)
        page = await expiry.entries(self._store.database, tenant, seen, self._ttl, PAGE)
        try:
            for chunk in _chunks([entry for entry in page if entry.latest]):
                await self._end(tenant, chunk)
        except TenantGone:
            return False
        if page:
            self._seen[tenant] = page[-1].resource_version
        return bool(page)

    async def _end(self, tenant: int, entries: Sequence[Entry]) -> None:
        versions = {entry.uid: entry.resource_version for entry in entries}
        records = await self._store.records(tenant, list(versions))
        await asyncio.gather(
            *(self._delete(tenant, r) for r in records if versions[r.uid] == r.resource_version)
        )

    async def _delete(self, tenant: int, record: Record) -> None:
        ended = Write("delete", record.key, record.uid, record.data, record.resource_version)
        try:
            await self._store.write(tenant, ended)
        except (KeyMissing, Stale):
            return  # somebody has deleted it, or written it: that is an entry of its own


def _chunks(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    chunk: list[Entry] = []
    size = 0
    for entry in entries:
        if chunk and size + entry.size > _BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += entry.size
    if chunk:
        yield chunk
