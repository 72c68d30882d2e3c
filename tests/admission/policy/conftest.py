"""A tenant with namespace ``n``, whose policies are obeyed as soon as they are stored."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from admission.policy import hooks
from apiserver.storage.postgres import PostgresStore
from tests.admission.policy.policies import Policies, obeying
from tests.support.api import serving
from tests.support.fixtures import store, tenant

__all__ = ["policies", "store", "tenant"]


@pytest_asyncio.fixture
async def policies(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Policies]:
    monkeypatch.setattr(hooks, "SETTLING", 0.0)
    async with serving(store, tenant) as api:
        yield await obeying(api)
