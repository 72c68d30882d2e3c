"""Group commit: per tenant, the writes that arrive while a batch is being committed form the next
one; a lone write goes at once.

Two batches of one tenant never run at the same time (they would only wait for each other's lock),
so within a process the events come in the order of the log. Observers see them before the writers
get their answers: a cache in this process is never behind its own writes.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Sequence

import psycopg

from apiserver.storage.commit import Outcome, Prepared, check_size, check_text, commit, rehearse
from apiserver.storage.errors import (
    InvalidText,
    KeyExists,
    KeyMissing,
    Stale,
    StorageError,
    Unavailable,
)
from apiserver.storage.interface import Event, Observer, Write
from apiserver.storage.pool import Connection, Database, is_connection_loss, translate
from apiserver.storage.resolve import find_committed
from apiserver.storage.transform import Transformer
from apiserver.whose import takes_turn

log = logging.getLogger("polyplane.storage")

MAX_BATCH = 64  # writes; more gains nothing (measured: 13,900 writes/s on one connection)
MAX_BATCH_BYTES = 4 * 2**20  # a batch holds the tenant's lock while it is being sent and parsed

_Pending = tuple[Prepared, "asyncio.Future[int]"]


class Writer:
    """Commits writes of all tenants of this process."""

    def __init__(self, database: Database, transformer: Transformer) -> None:
        self._database = database
        self._transformer = transformer
        self._queues: dict[int, deque[_Pending]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.observers: list[Observer] = []

    async def close(self) -> None:
        """Waits for the batches that are under way and queued."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _prepared(self, tenant: int, write: Write) -> Prepared:
        """Raises ObjectTooLarge, InvalidText."""
        check_size(write)
        check_text(write)
        return Prepared(write, self._transformer.encode(tenant, write.key, write.data))

    async def rehearse(self, tenant: int, write: Write) -> None:
        item = self._prepared(tenant, write)
        outcome = await self._database.read(lambda connection: rehearse(connection, tenant, item))
        if isinstance(outcome, StorageError):
            raise outcome

    async def write(self, tenant: int, write: Write) -> int:
        item = self._prepared(tenant, write)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        queue = self._queues.get(tenant)
        if queue is None:
            queue = self._queues[tenant] = deque()
            task = asyncio.create_task(self._drain(tenant, queue))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        queue.append((item, future))
        return await future

    async def _drain(self, tenant: int, queue: deque[_Pending]) -> None:
        try:
            while queue:
                await takes_turn()  # behind the tenant's other steps, whose writes it takes along
                batch = _take(queue)
                if not batch:
                    break
                try:
                    outcomes = await self._commit(tenant, [item for item, _ in batch])
                except Exception as error:  # a bug must not leave writers waiting for ever
                    log.exception("committing a batch of tenant %s", tenant)
                    outcomes = [
                        Unavailable(f"internal error: {error}", unknown=True) for _ in batch
                    ]
                self._announce(tenant, [o for o in outcomes if isinstance(o, Event)])
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    if future.done():
                        continue
                    if isinstance(outcome, Event):
                        future.set_result(outcome.record.resource_version)
                    else:
                        future.set_exception(outcome)
        finally:
            del self._queues[tenant]
            for _, future in queue:
                future.cancel()

    def _announce(self, tenant: int, events: list[Event]) -> None:
        for observer in self.observers if events else ():
            try:
                observer(tenant, events)
            except Exception:
                log.exception("an observer of commits failed")

    async def _commit(self, tenant: int, batch: Sequence[Prepared]) -> list[Outcome]:
        """Outcomes of all, in their order; never raises for what the database does."""
        deadline = time.monotonic() + self._database.patience
        pause = 0.02
        sent = False

        async def send(connection: Connection) -> list[Outcome]:
            nonlocal sent
            sent = True
            return await commit(connection, tenant, batch)

        while True:
            sent = False
            try:
                return await self._database.use(send)
            except psycopg.Error as error:
                if not is_connection_loss(error):
                    return await self._one_by_one(tenant, batch, error)
                failure = translate(error)
            await self._database.recover()
            if sent:
                return await self._after_loss(tenant, batch, deadline)
            if time.monotonic() + pause > deadline:
                return [failure for _ in batch]
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
            pause = min(pause * 2, 0.5)

    async def _one_by_one(
        self, tenant: int, batch: Sequence[Prepared], error: psycopg.Error
    ) -> list[Outcome]:
        """The database refused the batch as a whole; alone, each write gets its own answer."""
        if len(batch) == 1:
            return [_refusal(error)]
        return [(await self._commit(tenant, [item]))[0] for item in batch]

    async def _after_loss(
        self, tenant: int, batch: Sequence[Prepared], deadline: float
    ) -> list[Outcome]:
        """Nobody knows whether the batch was committed: the log is asked, and what left no event is
        committed again (see resolve.py)."""
        try:
            events = await self._find_committed(tenant, batch)
            if None not in events and events:
                return [event for event in events if event is not None]
            if time.monotonic() > deadline:
                raise Unavailable("")
            missing = [i for i, event in enumerate(events) if event is None]
            again = await self._commit(tenant, [batch[i] for i in missing])
            lost = [
                i
                for i, outcome in zip(missing, again, strict=True)
                if isinstance(outcome, KeyExists | KeyMissing | Stale)
            ]
            late = (
                dict(
                    zip(
                        lost,
                        await self._find_committed(tenant, [batch[i] for i in lost]),
                        strict=True,
                    )
                )
                if lost
                else {}
            )
        except StorageError:
            unknown = Unavailable(
                "the connection to the database was lost while the write was committed",
                unknown=True,
            )
            return [unknown for _ in batch]
        outcomes: dict[int, Outcome] = {
            i: late.get(i) or outcome for i, outcome in zip(missing, again, strict=True)
        }
        return [event or outcomes[i] for i, event in enumerate(events)]

    async def _find_committed(self, tenant: int, batch: Sequence[Prepared]) -> list[Event | None]:
        return await self._database.read(
            lambda connection: find_committed(connection, tenant, batch)
        )


def _take(queue: deque[_Pending]) -> list[_Pending]:
    batch: list[_Pending] = []
    size = 0
    while (
        queue
        and len(batch) < MAX_BATCH
        and (not batch or size + len(queue[0][0].stored) <= MAX_BATCH_BYTES)
    ):
        item, future = queue.popleft()
        if future.cancelled():  # whoever asked for it has gone
            continue
        size += len(item.stored)
        batch.append((item, future))
    return batch


def _refusal(error: psycopg.Error) -> StorageError:
    """Class 22 and program limits: the value cannot be stored; all else is the database's
    trouble."""
    if isinstance(error, psycopg.DataError) or (error.sqlstate or "").startswith("54"):
        return InvalidText(str(error).split("\n", 1)[0])
    return translate(error)
