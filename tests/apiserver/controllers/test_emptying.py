"""A terminating namespace: the order in which it is emptied, and what its conditions say."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from apiserver.controllers.emptying import Remains, set_conditions
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.options import DeleteOptions
from tests.support.definitionworker import Worker

NAMESPACES, CONFIGMAPS, PODS = ("", "namespaces"), ("", "configmaps"), ("", "pods")
AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def state(status: Object) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}


def test_nothing_is_wrong() -> None:
    status: Object = {}
    assert set_conditions(status, Remains([]), AT)
    assert state(status) == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "False",
            "ContentRemoved",
            "All content successfully removed",
        ),
        "NamespaceFinalizersRemaining": (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    }
    assert not set_conditions(status, Remains([]), LATER)


def test_what_remains_is_counted_by_resource_and_finalizer() -> None:
    counts = Counter(
        {
            ("v1", GroupResource("", "pods"), ("a/b",)): 2,
            ("v1", GroupResource("", "pods"), ()): 1,
            ("v1", GroupResource("apps", "deployments"), ("a/b", "c/d")): 1,
        }
    )
    status: Object = {}
    set_conditions(status, Remains(["z", "y"], counts), AT)
    texts = {kind: values for kind, values in state(status).items() if values[0] == "True"}
    assert texts == {
        "NamespaceDeletionContentFailure": (
            "True",
            "ContentDeletionFailed",
            "Failed to delete all resource types, 2 remaining: y, z",
        ),
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: deployments.apps has 1 resource instances, "
            "pods. has 3 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: a/b in 3 resource instances, "
            "c/d in 1 resource instances",
        ),
    }


def test_a_transition_has_its_time_and_other_conditions_stay() -> None:
    status: Object = {"conditions": [{"type": "Mine"}]}
    set_conditions(status, Remains([]), AT)
    set_conditions(status, Remains(["x"]), LATER)
    set_conditions(status, Remains(["y"]), datetime(2026, 1, 3, tzinfo=UTC))
    times = {c["type"]: c.get("lastTransitionTime") for c in status["conditions"]}
    assert times["NamespaceDeletionContentFailure"] == "2026-01-02T00:00:00Z"
    assert times["NamespaceContentRemaining"] == "2026-01-01T00:00:00Z"
    assert status["conditions"][0] == {"type": "Mine"}


@pytest_asyncio.fixture
async def emptied(collected: Worker) -> Worker:
    """In a tenant that has a namespace."""
    await collected.create(NAMESPACES, {"metadata": {"name": "ns"}})
    return collected


async def until_says(worker: Worker, kind: str, text: str) -> Object:
    said: Object = {}

    async def says() -> bool:
        namespace = await worker.get(NAMESPACES, "ns")
        assert namespace is not None
        if "conditions" in namespace["status"]:
            said.update(state(namespace["status"]))
        return text in said.get(kind, ("", "", ""))[2]

    await worker.until_true(says)
    return said


async def test_a_stuck_namespace_says_why_and_goes_when_it_can(emptied: Worker) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await emptied.create(CONFIGMAPS, held)
    await emptied.create(CONFIGMAPS, {"metadata": {"name": "free"}})
    await emptied.delete(NAMESPACES, "ns")
    said = await until_says(emptied, "NamespaceFinalizersRemaining", "example.com/hold in 1 ")
    assert said["NamespaceContentRemaining"][2].endswith("configmaps. has 1 resource instances")
    assert said["NamespaceDeletionContentFailure"][0] == "False"
    await emptied.change(CONFIGMAPS, "held", lambda obj: obj["metadata"].pop("finalizers"))

    async def gone() -> bool:
        return await emptied.get(NAMESPACES, "ns") is None

    await emptied.until_true(gone)


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
async def test_what_was_said_of_dependents_keeps_no_namespace(emptied: Worker, policy: str) -> None:
    await emptied.create(CONFIGMAPS, {"metadata": {"name": "free"}})
    options = DeleteOptions(propagation_policy=policy)
    marked = await emptied.delete(NAMESPACES, "ns", options)
    assert marked["metadata"]["finalizers"]

    async def gone() -> bool:
        return await emptied.get(NAMESPACES, "ns") is None

    await emptied.until_true(gone)


async def test_nothing_else_goes_before_the_pods(emptied: Worker) -> None:
    pod = {
        "metadata": {"name": "p", "finalizers": ["example.com/hold"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    await emptied.create(PODS, pod)
    await emptied.create(CONFIGMAPS, {"metadata": {"name": "free"}})
    await emptied.delete(NAMESPACES, "ns")
    said = await until_says(emptied, "NamespaceContentRemaining", "pods. has 1 resource instances")
    assert "configmaps" not in said["NamespaceContentRemaining"][2]
    assert said["NamespaceDeletionContentFailure"][0] == "False"  # nothing else was tried yet
    assert await emptied.get(CONFIGMAPS, "free") is not None
    await emptied.change(PODS, "p", lambda obj: obj["metadata"].pop("finalizers"))

    async def gone() -> bool:
        return await emptied.get(NAMESPACES, "ns") is None

    await emptied.until_true(gone)
    assert await emptied.get(CONFIGMAPS, "free") is None
