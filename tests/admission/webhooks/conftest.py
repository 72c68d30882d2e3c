from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from apiserver.storage.postgres import PostgresStore
from tests.support.admissionhooks import admitting
from tests.support.api import Api


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """The API of a tenant with its webhooks."""
    async with admitting(store, tenant) as served:
        yield served
