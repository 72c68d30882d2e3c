"""The store: PostgreSQL behind interface.Store, put together from reader, writer and hints."""

from __future__ import annotations

from apiserver.storage.interface import Write
from apiserver.storage.pool import Database
from apiserver.storage.reader import PostgresReader
from apiserver.storage.transform import Identity, Transformer
from apiserver.storage.writer import Observer, Writer


class PostgresStore(PostgresReader):
    """One per process and event loop. conninfo: libpq connection string; size: most pooled connections; patience: seconds for which
    reads and writes wait for a database that went away. transformer: what the stored text goes through."""

    def __init__(self, conninfo: str, *, size: int = 8, patience: float = 10.0, transformer: Transformer | None = None) -> None:
        transformer = transformer or Identity()
        super().__init__(Database(conninfo, size=size, patience=patience), transformer)
        self._writer = Writer(self.database, transformer)

    async def open(self) -> None:
        """Connects; waits up to 30 s for the database."""
        await self.database.open()

    async def close(self) -> None:
        """Finishes the writes that were begun, then disconnects."""
        await self._writer.close()
        await self.database.close()

    async def write(self, tenant: int, write: Write) -> int:
        return await self._writer.write(tenant, write)

    def observe(self, observer: Observer) -> None:
        """``observer(tenant, events)`` is called, in the event loop, with all that this process commits, in the order of the log and
        before the writers get their answers."""
        self._writer.observers.append(observer)
