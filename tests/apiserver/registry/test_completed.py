"""A claim's first update is one even if it changes nothing, as upstream, where only that stores its
phase."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, Api, serving
from tests.support.fixtures import store, tenant

__all__ = ["store", "tenant"]

NS = "/api/v1/namespaces/ns"
CLAIM = {
    "metadata": {"name": "o"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def version(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


async def again(api: Api, path: str, how: str) -> Any:
    """The same once more."""
    if how == "put":
        return await api.ok("PUT", path, await api.ok("GET", path))
    return await api.ok("PATCH", path, {"metadata": {"name": "o"}}, TYPES["merge"])


@pytest.mark.parametrize("how", ["put", "patch"])
@pytest.mark.parametrize(
    ("resource", "obj", "completed"),
    [("persistentvolumeclaims", CLAIM, True), ("configmaps", {"metadata": {"name": "o"}}, False)],
)
async def test_the_first_update(
    store: PostgresStore, tenant: int, resource: str, obj: Any, completed: bool, how: str
) -> None:
    async with serving(store, tenant) as api:
        path = f"{NS}/{resource}/o"
        created = await api.ok("POST", f"{NS}/{resource}", obj)
        first = await again(api, path, how)
        assert (version(first) > version(created)) is completed
        assert first["metadata"].get("managedFields") == created["metadata"].get("managedFields")
        assert version(await again(api, path, how)) == version(first)
