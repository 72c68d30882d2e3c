"""On whose behalf a controller deleted something is in the entry of each object that went."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest_asyncio

from apiserver.audit.policy import DEFAULT
from apiserver.audit.trail import ON_BEHALF, Trail
from apiserver.registry import deletion
from apiserver.registry.options import DeleteOptions
from apiserver.request import parse_request
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.auditrows import rows
from tests.support.definitionworker import Worker

NAMESPACES, CONFIGMAPS = ("", "namespaces"), ("", "configmaps")
CONTROLLER = "system:kube-controller-manager"


@pytest_asyncio.fixture
async def controlled(collected: Worker) -> Worker:
    """In a tenant that has a namespace."""
    await collected.create(NAMESPACES, {"metadata": {"name": "ns"}})
    return collected


async def delete(worker: Worker, resource: tuple[str, str], name: str, path: str) -> None:
    """As a request of ann's, who acts as jane."""
    info = parse_request("DELETE", path)
    ann = User("ann")
    trail = Trail(DEFAULT.rules[-1].verdict, "test", info, ann, audit_id="of-the-request")
    trail.acting = User("jane")
    scope = replace(worker.scope(resource, name), trail=trail)
    await deletion.delete(worker.registry, scope, DeleteOptions())


async def until_gone(worker: Worker, resource: tuple[str, str], name: str) -> None:
    async def gone() -> bool:
        return await worker.get(resource, name) is None

    await worker.until_true(gone)


async def deletions(store: PostgresStore, worker: Worker, name: str) -> list[dict[str, Any]]:
    return await rows(store, worker.tenant.id, resource="configmaps", name=name, verb="delete")


async def test_what_a_namespace_takes_with_it_names_who_deleted_that(
    controlled: Worker, store: PostgresStore
) -> None:
    names = ("a", "b")
    for name in names:
        await controlled.create(CONFIGMAPS, {"metadata": {"name": name}})
    await delete(controlled, NAMESPACES, "ns", "/api/v1/namespaces/ns")
    await until_gone(controlled, NAMESPACES, "ns")
    for name in names:
        (entry,) = await deletions(store, controlled, name)
        assert entry["user"] == CONTROLLER
        assert entry["data"]["annotations"][ON_BEHALF] == "deletion of namespace ns by ann as jane"


async def test_what_goes_with_its_owner_names_the_owner(
    controlled: Worker, store: PostgresStore
) -> None:
    owner = await controlled.create(CONFIGMAPS, {"metadata": {"name": "owner"}})
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    dependent = {"metadata": {"name": "dependent", "ownerReferences": [reference]}}
    await controlled.create(CONFIGMAPS, dependent)
    await delete(controlled, CONFIGMAPS, "owner", "/api/v1/namespaces/ns/configmaps/owner")
    await until_gone(controlled, CONFIGMAPS, "dependent")
    (entry,) = await deletions(store, controlled, "dependent")
    assert entry["user"] == CONTROLLER
    cause = entry["data"]["annotations"][ON_BEHALF]
    assert cause == f"deletion of its owners: v1 ConfigMap owner {uid}"
    (first,) = await deletions(store, controlled, "owner")
    assert (first["user"], first["data"]["auditID"]) == ("ann", "of-the-request")
