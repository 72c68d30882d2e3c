"""Connections to PostgreSQL, and the one boundary where psycopg's errors become storage errors.

Pooled connections keep no session state (autocommit, no prepared statements, no SET, no session
locks), so PgBouncer may stand between in transaction mode. A connection that broke is thrown away;
the first failure makes the pool test the rest, so that one restart of PostgreSQL costs one failure
and not one per connection.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import AdaptersMap, Buffer, Loader
from psycopg.pq import Format
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from apiserver.storage.errors import DiskFull, StorageError, Unavailable
from apiserver.storage.visibility import everywhere, within
from apiserver.whose import NOBODY, WHOSE, for_nobody, takes_turn

log = logging.getLogger("polyplane.storage")

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]
Connection = psycopg.AsyncConnection[Row]
T = TypeVar("T")

STORE, HINTS = "polyplane", "polyplane-hints"
"""What connections are called (application_name): the pooled ones, and those outside the pool."""
_LIVENESS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

_TELL_EVERY = 60.0


class _RawJson(Loader):
    """The json type as the bytes that were written."""

    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_loader("json", _RawJson)
    return adapters


ADAPTERS = _adapters()


class _Tenant:
    __slots__ = ("used", "waiting")

    def __init__(self) -> None:
        self.used = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class Places:
    """How many of the pool's connections one tenant may have at a time: the others' queries find
    one, whatever a tenant asks for. each: of one tenant. Who waits has its place in the order in
    which it came."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._tenants: dict[int, _Tenant] = {}

    async def take(self, tenant: int) -> None:
        own = self._tenants.get(tenant)
        if own is None:
            own = self._tenants[tenant] = _Tenant()
        if own.used < self._each:
            own.used += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        own.waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.give_back(tenant)
            else:
                own.waiting.remove(place)
            raise

    def give_back(self, tenant: int) -> None:
        """To the next of the tenant's that waits."""
        own = self._tenants[tenant]
        while own.waiting:
            place = own.waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        own.used -= 1
        if not own.used:
            del self._tenants[tenant]


class Database:
    """A pool, and the ways to use it. patience: seconds for which readers wait for a database that
    went away before Unavailable."""

    def __init__(self, conninfo: str, *, size: int = 8, patience: float = 10.0) -> None:
        self.conninfo = conninfo
        self.size = size
        self.patience = patience
        self._tested = 0.0
        self._places = Places(max(size // 2, 1))
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            min_size=1,
            max_size=size,
            open=False,
            timeout=min(2.0, patience),
            reconnect_timeout=0.5,
            max_idle=300.0,
            name="polyplane-storage",
            kwargs={
                "autocommit": True,
                "prepare_threshold": None,
                "context": ADAPTERS,
                "application_name": STORE,
                **_LIVENESS,
            },
        )

    async def open(self) -> None:
        """Connects, within the patience of readers. Raises Unavailable."""
        await self._pool.open(wait=False)

        async def query(connection: Connection) -> None:
            await connection.execute("SELECT 1")

        try:
            await self.read(query)
        except BaseException:
            await self._pool.close()
            raise

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """One connection in autocommit. Raises psycopg's errors: use `read`, or translate."""
        async with for_nobody(), self._pool.connection() as connection:
            yield connection

    async def use(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """``work`` with one connection, on which it leaves no transaction open. As `connection`,
        for what is done for each request: a tenant may have half of the connections at a time, and
        who has one waits for no turn on the loop, because others wait for the connection."""
        whose = WHOSE.get()
        if whose == NOBODY:
            return await self._use(work)
        await self._places.take(whose)
        WHOSE.set(NOBODY)
        try:
            result = await self._use(work)
        finally:
            WHOSE.set(whose)
            self._places.give_back(whose)
        await takes_turn()
        return result

    async def _use(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        connection = await self._pool.getconn()
        try:
            return await work(connection)
        finally:
            await self._pool.putconn(connection)

    async def read(self, query: Callable[[Connection], Awaitable[T]]) -> T:
        """Runs a query that may be repeated, again and again with jitter until it works or patience
        ends (Unavailable). It sees tables that are nobody's, and what functions show that name the
        tenant themselves; see visibility.py."""
        deadline = time.monotonic() + self.patience
        pause = 0.02
        while True:
            try:
                return await self.use(query)
            except psycopg.Error as error:
                if (
                    not is_connection_loss(error)
                    or time.monotonic() + pause > deadline
                    or self._pool.closed
                ):
                    raise translate(error) from error
            await self.recover()
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
            pause = min(pause * 2, 0.5)

    async def read_within(self, tenant: int, query: Callable[[Connection], Awaitable[T]]) -> T:
        """`read` in a transaction that sees the rows of one tenant."""

        async def seeing(connection: Connection) -> T:
            async with within(connection, tenant):
                return await query(connection)

        return await self.read(seeing)

    async def read_everywhere(self, query: Callable[[Connection], Awaitable[T]]) -> T:
        """`read` in a transaction that sees the rows of all tenants."""

        async def seeing(connection: Connection) -> T:
            async with everywhere(connection):
                return await query(connection)

        return await self.read(seeing)

    async def rows(self, statement: str, parameters: Parameters = ()) -> Sequence[Row]:
        """`read` of what one statement returns."""
        return await self.read(lambda connection: query(connection, statement, parameters))

    async def rows_within(
        self, tenant: int, statement: str, parameters: Parameters
    ) -> Sequence[Row]:
        """`read_within` of what one statement returns."""
        return await self.read_within(
            tenant, lambda connection: query(connection, statement, parameters)
        )

    async def rows_everywhere(self, statement: str, parameters: Parameters = ()) -> Sequence[Row]:
        """`read_everywhere` of what one statement returns."""
        return await self.read_everywhere(
            lambda connection: query(connection, statement, parameters)
        )

    async def recover(self) -> None:
        """After a connection was lost: throws away the others that are broken too; at most once in
        50 ms."""
        now = time.monotonic()
        if now - self._tested < 0.05:
            return
        self._tested = now
        try:
            await self._pool.check()
        except psycopg.Error as error:
            log.debug("testing pooled connections: %s", error)

    async def dedicated(self, conninfo: str = "") -> Connection:
        """A connection outside the pool, in autocommit, that the caller closes."""
        return await psycopg.AsyncConnection.connect(
            conninfo or self.conninfo,
            autocommit=True,
            prepare_threshold=None,
            application_name=HINTS,
            **_LIVENESS,
        )


async def query(connection: Connection, statement: str, parameters: Parameters) -> Sequence[Row]:
    """All rows, in PostgreSQL's binary format."""
    cursor = connection.cursor(binary=True)
    await cursor.execute(statement, parameters)
    return await cursor.fetchall()


def is_connection_loss(error: psycopg.Error) -> bool:
    """Whether the server or the way to it failed, and not the statement: classes 57P (shutdown) and
    08 (connection), or no SQLSTATE."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | PoolTimeout):
        return False
    return (
        error.sqlstate is None
        or error.sqlstate.startswith(("08", "57P"))
        or error.sqlstate == "53300"
    )


def translate(error: psycopg.Error) -> StorageError:
    """A failure of the database that no client can help."""
    first = str(error).strip().split("\n", 1)[0]
    if isinstance(error, psycopg.errors.DiskFull):
        _full_disk.told(first)
        return DiskFull(first)
    return Unavailable(first or type(error).__name__)


class _FullDisk:
    """Tells the operator of a disk that stays full, once in `_TELL_EVERY` seconds."""

    def __init__(self) -> None:
        self._next = 0.0

    def told(self, why: str) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _TELL_EVERY
            log.error("the disk of the database is full, what is written gets 503: %s", why)


_full_disk = _FullDisk()
