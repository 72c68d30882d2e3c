"""Fixtures of tests with a database; the conftest.py of each folder takes over what it
needs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

import pytest
import pytest_asyncio
from django.db import connections

from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.visibility import django_everywhere
from tests.support.api import Api, serving
from tests.support.storage import numbers

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Runs what uses Django's connection, which belongs to a thread, and closes that connection."""

    def run() -> T:
        try:
            return call()
        finally:
            connections.close_all()

    return await asyncio.to_thread(run)


async def looking(call: Callable[[], T]) -> T:
    """`in_thread`, and seeing the rows of all tenants."""

    def run() -> T:
        with django_everywhere():
            return call()

    return await in_thread(run)


@pytest.fixture
def tenant(postgres: str) -> Iterator[int]:
    """A tenant of storage only, empty; its first version is small."""
    number = next(numbers)
    tenants.create(number)
    yield number
    tenants.drop(number)


@pytest_asyncio.fixture
async def store(postgres: str) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(postgres, size=4)
    await opened.open()
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """The whole API of a tenant, with an authorizer that allows everything."""
    async with serving(store, tenant) as served:
        yield served


@pytest.fixture(scope="module")
def runner(postgres: str) -> Iterator[asyncio.Runner]:
    """A loop for tests that are no coroutines: hypothesis calls them many times."""
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module")
def shared_store(runner: asyncio.Runner, postgres: str) -> Iterator[PostgresStore]:
    """On the loop of `runner`."""
    opened = PostgresStore(postgres, size=4)
    runner.run(opened.open())
    yield opened
    runner.run(opened.close())
