"""How many bytes the database takes on its disk, for the metrics of the installation (k8s.io/
apiserver ``storage/etcd3/metrics``, which asks etcd for as long).

PostgreSQL looks at each of its files to say so. It is asked once in a while, whoever scrapes how
often; a scrape waits a second for the answer, and the next one tells what came later.
"""

from __future__ import annotations

import asyncio
from time import monotonic

from apiserver.endpoints.metric_types import Gauge
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import Store

_KEPT = 60.0
"""Seconds from one question to the next."""
_PATIENCE = 1.0
"""Seconds."""
_DATABASE = ("postgresql-0",)
"""The label: upstream numbers the etcds that it has."""


class StorageSize:
    """One for a server."""

    def __init__(self) -> None:
        self._due = 0.0
        self._asking: asyncio.Task[None] | None = None

    async def look(self, store: Store, gauge: Gauge) -> None:
        """Brings the gauge up to date, which has no value where the database gives no answer."""
        if monotonic() >= self._due and (self._asking is None or self._asking.done()):
            self._due = monotonic() + _KEPT
            self._asking = asyncio.create_task(_ask(store, gauge))
        if self._asking is not None:
            await asyncio.wait([self._asking], timeout=_PATIENCE)


async def _ask(store: Store, gauge: Gauge) -> None:
    try:
        gauge.set(_DATABASE, await store.size())
    except StorageError:
        gauge.values.clear()
