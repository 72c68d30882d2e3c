from collections.abc import AsyncIterator

import pytest_asyncio

from apiserver.storage.postgres import PostgresStore
from apiserver.watch.watches import Watches
from tests.support.fixtures import store, tenant
from tests.support.storage import index

__all__ = ["store", "tenant"]


@pytest_asyncio.fixture
async def watches(store: PostgresStore) -> AsyncIterator[Watches]:
    started = Watches(store, index)
    await started.start()
    yield started
    await started.stop()


@pytest_asyncio.fixture
async def elsewhere(postgres: str) -> AsyncIterator[PostgresStore]:
    """The store of another process: what it writes comes to ``watches`` through the database
    only."""
    opened = PostgresStore(postgres, size=2)
    await opened.open()
    yield opened
    await opened.close()
