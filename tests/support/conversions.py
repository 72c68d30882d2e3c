"""Definitions with conversion webhooks for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.api import Api
from tests.support.webhooks import (
    Webhook,
    converting,
    webhook,
)
from tests.support.widgets import define

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


@asynccontextmanager
async def defined(api: Api, storage: str = "v1", **v2: Any) -> AsyncIterator[Webhook]:
    async with webhook(converting) as hook:
        await define(api, hook.config(), storage, **v2)
        yield hook


async def names(api: Api, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in (await api.ok("GET", path))["items"]]
