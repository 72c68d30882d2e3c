"""What type checking finds comes into the status of policies."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from apiserver.controllers import policystatus
from apiserver.controllers.actions import Actions
from apiserver.controllers.policystatus import POLICIES, PolicyStatus
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.apiserver.controllers.test_upkeep import controllers
from tests.support.definitionworker import Worker


def policy(expression: str, *resources: str) -> Object:
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": list(resources or ["deployments"]),
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression}],
    }
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    monkeypatch.setattr(policystatus, "SETTLE", 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


async def observed(worker: Worker, generation: int) -> Object:
    async def done() -> bool:
        obj = await worker.get(POLICIES, "p")
        return obj is not None and obj["status"].get("observedGeneration") == generation

    await worker.until_true(done)
    obj = await worker.get(POLICIES, "p")
    assert obj is not None
    return obj


async def test_a_policy_is_checked_when_it_is_new_and_when_it_changes(kept: Worker) -> None:
    await kept.create(POLICIES, policy("object.replicas > 1"))
    obj = await observed(kept, 1)
    (warning,) = obj["status"]["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"
    assert warning["warning"].startswith("apps/v1, Kind=Deployment: ERROR")
    (entry,) = [e for e in obj["metadata"]["managedFields"] if e.get("subresource") == "status"]
    assert (entry["manager"], entry["operation"]) == ("validatingadmissionpolicy-status", "Apply")

    def mend(obj: Object) -> None:
        obj["spec"]["validations"][0]["expression"] = "object.spec.replicas > 1"

    await kept.change(POLICIES, "p", mend)
    assert (await observed(kept, 2))["status"]["typeChecking"] == {}


async def test_rules_with_wildcards_are_not_checked(kept: Worker) -> None:
    await kept.create(POLICIES, policy("object.none == 1", "*"))
    assert (await observed(kept, 1))["status"]["typeChecking"] == {}


async def test_resources_are_known_by_their_singular_too(kept: Worker) -> None:
    await kept.create(POLICIES, policy("object.none == 1", "Deployment", "ReplicaSets"))
    (warning,) = (await observed(kept, 1))["status"]["typeChecking"]["expressionWarnings"]
    kinds = [text.partition(":")[0] for text in warning["warning"].split("\n\n")]
    assert kinds == ["apps/v1, Kind=Deployment", "apps/v1, Kind=ReplicaSet"]


async def test_the_sweep_finds_what_was_missed(worker: Worker, store: PostgresStore) -> None:
    keeper = PolicyStatus(Actions(worker.registry), Relations(store.database))
    await worker.create(POLICIES, policy("true"))
    assert await keeper.missed(worker.tenant.id) == ["p"]
    await keeper.look(worker.tenant, "p")
    assert await keeper.missed(worker.tenant.id) == []
    await keeper.look(worker.tenant, "gone")
