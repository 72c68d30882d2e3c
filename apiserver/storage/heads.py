"""The tenants' heads, asked for by everybody and queried once: callers that come while a query is
under way share the next one.

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


class Heads:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[int, list[asyncio.Future[Head]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def of(self, tenant: int) -> Head:
        """Not older than the call. Raises TenantGone, Unavailable."""
        future: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, []).append(future)
        if self._task is None:
            self._task = shared_task(self._run())
        return await future

    async def of_all(self, tenants: list[int]) -> dict[int, Head]:
        """Those that exist, in one query."""

        rows = await self._database.read(lambda connection: _HEADS.rows(connection, tenants))
        return {tenant: Head(head, floor) for tenant, head, floor in rows}

    async def _run(self) -> None:
        try:
            while self._waiting:
                await turns_pass()
                asked, self._waiting = self._waiting, {}
                await self._answer(asked)
        finally:
            self._task = None

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
