"""Objects and tenants for tests of storage and watch; the fixtures are taken over by the conftest.py of each of these folders."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, TypeVar
from uuid import uuid4

import pytest
import pytest_asyncio
from django.db import connections

from apiserver.meta.gvk import GroupResource
from apiserver.storage import tenants
from apiserver.storage.interface import ObjectKey, Record, Write
from apiserver.storage.postgres import PostgresStore

T = TypeVar("T")

CONFIGMAPS = GroupResource("", "configmaps")
LEASES = GroupResource("coordination.k8s.io", "leases")

numbers = itertools.count((os.getpid() % 10_000) * 10_000_000 + int(time.time()) % 10_000 * 1000)


def key(name: str, namespace: str = "default", resource: GroupResource = CONFIGMAPS) -> ObjectKey:
    return ObjectKey(resource.group, resource.resource, namespace, name)


def text(k: ObjectKey, value: str = "", labels: Mapping[str, str] | None = None) -> bytes:
    metadata: dict[str, Any] = {"name": k.name, "namespace": k.namespace}
    if labels:
        metadata["labels"] = dict(labels)
    return json.dumps({"kind": "X", "apiVersion": "v1", "metadata": metadata, "value": value}, separators=(",", ":")).encode()


def create(k: ObjectKey, value: str = "", labels: Mapping[str, str] | None = None, **columns: Any) -> Write:
    return Write("create", k, str(uuid4()), text(k, value, labels), **columns)


def update(old: Record, value: str = "", labels: Mapping[str, str] | None = None) -> Write:
    return Write("update", old.key, old.uid, text(old.key, value, labels), expected=old.resource_version)


def delete(old: Record) -> Write:
    return Write("delete", old.key, old.uid, old.data, expected=old.resource_version)


def stored(write: Write, resource_version: int) -> Record:
    return Record(write.key, write.uid, resource_version, write.data)


def index(resource: GroupResource, data: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
    obj = json.loads(data)
    return obj["metadata"].get("labels", {}), {"value": obj["value"]}


async def in_thread(call: Callable[[], T]) -> T:
    """Runs what uses Django's connection, which belongs to a thread, and closes that connection."""

    def run() -> T:
        try:
            return call()
        finally:
            connections.close_all()

    return await asyncio.to_thread(run)


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
