"""A tenant that is searched, and how it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from apiserver.storage.interface import Store
from tests.support.api import Api, serving
from tests.support.fixtures import store, tenant

__all__ = ["store", "tenant"]


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made
