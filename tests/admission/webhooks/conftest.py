from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from admission.webhooks.client import WebhookClient
from apiserver.storage.postgres import PostgresStore
from tests.support.admissionhooks import admitting
from tests.support.api import Api


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """The API of a tenant with its webhooks."""
    async with admitting(store, tenant) as served:
        yield served


@pytest_asyncio.fixture
async def client() -> AsyncIterator[WebhookClient]:
    made = WebhookClient(timeout=10)
    yield made
    await made.close()
