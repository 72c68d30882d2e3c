"""The API of two tenants that may have API servers of their own."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from admission.webhooks.addresses import AddressPolicy
from apiserver.aggregation.aggregator import Aggregator
from apiserver.controllers.aggregation import AggregationController
from apiserver.storage import tenants
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.aggregated import (
    FRONT,
)
from tests.support.api import Api, serving
from tests.support.fixtures import in_thread
from tests.support.storage import numbers


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """What a module leaves is collected here, and not in somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class Directory:
    """Two tenants, and a user with all that a user can have."""

    def __init__(self, default: int, acme: int) -> None:
        self.numbers = {"default": default, "acme": acme}

    async def tenant(self, name: str) -> Any:
        number = self.numbers.get(name)
        return number and SimpleNamespace(
            id=number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return User("ann", "u-1", ("dev", "system:authenticated"), {"Team/x": ("a", "b")})

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        return "default"


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    other = next(numbers)
    await in_thread(lambda: tenants.create(other))
    async with serving(store, tenant) as made:
        made.server.directory = Directory(tenant, other)
        made.server.anonymous_tenants = frozenset({"default", "acme"})
        aggregator = Aggregator(made.registry, AddressPolicy(), FRONT)
        made.server.aggregator = aggregator
        candidate = Candidate(store.database, "here")
        controller = AggregationController(made.registry, aggregator, candidate, made.catalog.used)
        yield made
        await controller.stop()
        aggregator.stop()
    await in_thread(lambda: tenants.drop(other))
