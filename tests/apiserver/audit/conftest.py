from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from apiserver.storage.postgres import PostgresStore
from tests.support.api import serving
from tests.support.auditworld import FULL, World
from tests.support.fixtures import store, tenant

__all__ = ["store", "tenant"]


@pytest_asyncio.fixture
async def full(store: PostgresStore, tenant: int) -> AsyncIterator[World]:
    """With a policy that keeps all of everything."""
    async with serving(store, tenant) as api:
        made = World(api, store, FULL)
        yield made
        await made.log.close()
