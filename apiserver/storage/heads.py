"""The tenants' heads, asked for by everybody and queried once: callers that come while a query for
their tenant is under way share the next one. Another tenant's callers need not wait for that
query's end: there may be `QUERIES` at a time.

A query that was already under way when a caller came may have looked before that caller's past, so
it never answers it.
"""

from __future__ import annotations

import asyncio

from apiserver.storage.call import BIGINTS, function
from apiserver.storage.errors import StorageError, TenantGone
from apiserver.storage.interface import Head
from apiserver.storage.pool import Database
from apiserver.whose import shared_task, turns_pass

_HEADS = function("pp_heads", "tenant_id, head, floor", BIGINTS)

QUERIES = 2
"""At a time, for different tenants."""


class Heads:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[int, list[asyncio.Future[Head]]] = {}
        self._asked: set[int] = set()
        """Tenants that a query is under way for, or about to be sent."""
        self._queries = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def of(self, tenant: int) -> Head:
        """Not older than the call. Raises TenantGone, Unavailable."""
        future: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, []).append(future)
        if self._queries < QUERIES and tenant not in self._asked:
            self._queries += 1
            task = shared_task(self._run(self._take()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def of_all(self, tenants: list[int]) -> dict[int, Head]:
        """Those that exist, in one query."""

        rows = await self._database.read(lambda connection: _HEADS.rows(connection, tenants))
        return {tenant: Head(head, floor) for tenant, head, floor in rows}

    def _take(self) -> set[int]:
        """The tenants of those that wait, but for those that a query is under way for."""
        tenants = self._waiting.keys() - self._asked
        self._asked |= tenants
        return tenants

    async def _run(self, tenants: set[int]) -> None:
        try:
            while tenants:
                try:
                    await turns_pass(tenants)
                    tenants |= self._take()
                    await self._answer({tenant: self._waiting.pop(tenant) for tenant in tenants})
                finally:
                    self._asked -= tenants
                tenants = self._take()
        finally:
            self._queries -= 1

    async def _answer(self, asked: dict[int, list[asyncio.Future[Head]]]) -> None:
        error: BaseException | None = None
        heads: dict[int, Head] = {}
        try:
            heads = await self.of_all(list(asked))
        except StorageError as e:
            error = e
        except BaseException as e:
            for futures in asked.values():
                for future in futures:
                    future.cancel()
            raise e
        for tenant, futures in asked.items():
            head = heads.get(tenant)
            for future in futures:
                if future.done():
                    continue
                if head is not None:
                    future.set_result(head)
                else:
                    future.set_exception(error or TenantGone(f"tenant {tenant} is gone"))
