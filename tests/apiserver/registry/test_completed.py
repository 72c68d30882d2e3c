"""A claim's first update is one even if it changes nothing, as upstream, where only that stores its
phase; so is a job's that came without labels."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, Api, serving
from tests.support.fixtures import store, tenant

__all__ = ["store", "tenant"]

CLAIM = {
    "metadata": {"name": "o"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
JOB = {"metadata": {"name": "o"}, "spec": {"template": TEMPLATE}}
OF_LABELS = {
    **JOB,
    "spec": {"template": {**TEMPLATE, "metadata": {"labels": {"a": "b"}}}},
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
    ("api_root", "resource", "obj", "completed"),
    [
        ("/api/v1", "persistentvolumeclaims", CLAIM, True),
        ("/apis/batch/v1", "jobs", JOB, True),
        ("/apis/batch/v1", "jobs", OF_LABELS, False),
        ("/api/v1", "configmaps", {"metadata": {"name": "o"}}, False),
    ],
)
async def test_the_first_update(
    store: PostgresStore,
    tenant: int,
    api_root: str,
    resource: str,
    obj: Any,
    completed: bool,
    how: str,
) -> None:
    async with serving(store, tenant) as api:
        path = f"{api_root}/namespaces/ns/{resource}/o"
        created = await api.ok("POST", f"{api_root}/namespaces/ns/{resource}", obj)
        first = await again(api, path, how)
        assert (version(first) > version(created)) is completed
        assert first["metadata"].get("managedFields") == created["metadata"].get("managedFields")
        assert version(await again(api, path, how)) == version(first)
