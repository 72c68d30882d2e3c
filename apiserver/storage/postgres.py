"""The store: PostgreSQL behind interface.Store, put together from reader, writer and hints."""

from __future__ import annotations

from apiserver.storage.hints import Hints
from apiserver.storage.interface import Listener, Observer, Write
from apiserver.storage.pool import Database
from apiserver.storage.reader import PostgresReader
from apiserver.storage.transform import Identity, Transformer
from apiserver.storage.writer import Writer


class PostgresStore(PostgresReader):
    """interface.Store; one per process and event loop.

    conninfo: libpq connection string; hints_conninfo: one that leads past a PgBouncer in
    transaction mode, for LISTEN and NOTIFY; size: most pooled connections; patience: seconds for
    which reads and writes wait for a database that went away; transformer: what the stored text
    goes through."""

    def __init__(
        self,
        conninfo: str,
        *,
        hints_conninfo: str = "",
        size: int = 8,
        patience: float = 10.0,
        transformer: Transformer | None = None,
    ) -> None:
        transformer = transformer or Identity()
        super().__init__(Database(conninfo, size=size, patience=patience), transformer)
        self._writer = Writer(self.database, transformer)
        self._hints = Hints(self.database, hints_conninfo)

    async def open(self) -> None:
        """Connects, within ``patience``. Raises Unavailable."""
        await self.database.open()
        self._hints.start()
        self.observe(self._hints.committed)

    async def close(self) -> None:
        """Finishes the writes that were begun, then disconnects."""
        await self._writer.close()
        await self._hints.stop()
        await self.database.close()

    async def write(self, tenant: int, write: Write) -> int:
        return await self._writer.write(tenant, write)

    async def rehearse(self, tenant: int, write: Write) -> None:
        await self._writer.rehearse(tenant, write)

    def observe(self, observer: Observer) -> None:
        self._writer.observers.append(observer)

    def listen(self, listener: Listener) -> None:
        self._hints.listeners.append(listener)
