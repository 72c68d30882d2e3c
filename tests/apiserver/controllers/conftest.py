"""Workers of one tenant, for the tests of what follows definitions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from apiserver.controllers import manager
from apiserver.controllers.manager import Controllers
from apiserver.registry.scope import Tenant
from apiserver.storage.postgres import PostgresStore
from tests.support.budgets import budgets, stale
from tests.support.definitionworker import Worker, running
from tests.support.fixtures import store, tenant

__all__ = ["budgets", "collected", "other", "stale", "store", "tenant", "worker"]


@pytest_asyncio.fixture
async def worker(store: PostgresStore, tenant: int) -> AsyncIterator[Worker]:
    async with running(store, tenant, "one") as made:
        yield made


@pytest_asyncio.fixture
async def collected(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    """A worker whose controllers do not let anybody wait."""
    monkeypatch.setattr(manager, "SETTLE", 0.02)
    monkeypatch.setattr(manager, "AGAIN", 0.05)

    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    controllers = Controllers(worker.registry, store.database, tenant_of, "test", worker.controller)
    yield worker
    await controllers.stop()


@pytest_asyncio.fixture
async def other(postgres: str, tenant: int) -> AsyncIterator[Worker]:
    """Another process, as far as the database can tell."""
    opened = PostgresStore(postgres, size=2, hints_conninfo=postgres)
    await opened.open()
    async with running(opened, tenant, "other") as made:
        yield made
    await opened.close()
