"""What a deletion comes to: marks, grace, finalizers, preconditions.

Source: k8s.io/apiserver ``registry/rest/delete.go``, ``registry/generic/registry/store.go``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apiserver.errors import Conflict
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.deletion import Step, check_preconditions, mark, warn
from apiserver.registry.options import DeleteOptions
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def scope(group: str, resource: str, *, later: int = 0) -> Scope:
    found = catalog.resources()[GroupResource(group, resource)]
    served = found.versions[found.storage_version]
    return Scope(
        Tenant(1, "t"), found, served, User("ann"), "ns", "x", now=NOW + timedelta(seconds=later)
    )


def thing(kind: str, **metadata: Any) -> Object:
    return {"kind": kind, "metadata": {"name": "x", "uid": "u", "resourceVersion": "7", **metadata}}


def pod(**metadata: Any) -> Object:
    return {
        **thing("Pod", **metadata),
        "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30},
    }


@pytest.mark.parametrize(
    ("group", "resource", "kind", "finalizers"),
    [
        ("batch", "jobs", "Job", ["orphan"]),
        ("", "replicationcontrollers", "ReplicationController", ["orphan"]),
        ("apps", "deployments", "Deployment", None),
    ],
)
def test_some_kinds_orphan_their_dependents_unless_told_otherwise(
    group: str, resource: str, kind: str, finalizers: list[str] | None
) -> None:
    obj = thing(kind)
    assert mark(scope(group, resource), obj, DeleteOptions()) is (
        Step.KEEP if finalizers else Step.REMOVE
    )
    assert obj["metadata"].get("finalizers") == finalizers
    assert (
        mark(scope(group, resource), thing(kind), DeleteOptions(propagation_policy="Background"))
        is Step.REMOVE
    )
    assert (
        mark(scope(group, resource), thing(kind), DeleteOptions(orphan_dependents=False))
        is Step.REMOVE
    )


def test_events_never_get_the_garbage_collectors_finalizers() -> None:
    assert (
        mark(scope("", "events"), thing("Event"), DeleteOptions(propagation_policy="Foreground"))
        is Step.REMOVE
    )


def test_a_job_is_warned_of_only_when_nobody_says_what_becomes_of_its_pods() -> None:
    silent, said = scope("batch", "jobs"), scope("batch", "jobs")
    warn(silent, DeleteOptions())
    warn(said, DeleteOptions(propagation_policy="Orphan"))
    warn(said, DeleteOptions(unsafe=True))
    assert [w[:37] for w in silent.warnings] == ["child pods are preserved by default w"]
    assert said.warnings == []


def test_the_policy_may_change_while_finalizers_hold_the_object() -> None:
    obj = thing("Deployment", generation=2)
    assert (
        mark(scope("apps", "deployments"), obj, DeleteOptions(propagation_policy="Foreground"))
        is Step.KEEP
    )
    assert obj["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (obj["metadata"]["generation"], obj["metadata"]["deletionGracePeriodSeconds"]) == (3, 0)
    assert (
        mark(scope("apps", "deployments", later=9), obj, DeleteOptions(propagation_policy="Orphan"))
        is Step.KEEP
    )
    assert obj["metadata"]["finalizers"] == ["orphan"]
    assert obj["metadata"]["deletionTimestamp"] == "2026-01-01T12:00:00Z"
    assert (
        mark(scope("apps", "deployments"), obj, DeleteOptions(propagation_policy="Background"))
        is Step.REMOVE
    )


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        (["a/b"], DeleteOptions(propagation_policy="Foreground"), ["a/b", "foregroundDeletion"]),
        (["a/b"], DeleteOptions(propagation_policy="Orphan"), ["a/b", "orphan"]),
        (["a/b"], DeleteOptions(orphan_dependents=True), ["a/b", "orphan"]),
        (["a/b"], DeleteOptions(), ["a/b"]),
        (
            ["foregroundDeletion", "a/b"],
            DeleteOptions(propagation_policy="Foreground"),
            ["foregroundDeletion", "a/b"],
        ),
        (["foregroundDeletion", "a/b"], DeleteOptions(), ["foregroundDeletion", "a/b"]),
        (["orphan", "a/b"], DeleteOptions(orphan_dependents=True), ["orphan", "a/b"]),
        (["orphan", "a/b"], DeleteOptions(), ["orphan", "a/b"]),
        (
            ["orphan", "a/b"],
            DeleteOptions(propagation_policy="Foreground"),
            ["a/b", "foregroundDeletion"],
        ),
        (
            ["foregroundDeletion", "a/b"],
            DeleteOptions(propagation_policy="Orphan"),
            ["a/b", "orphan"],
        ),
        (["foregroundDeletion", "a/b"], DeleteOptions(orphan_dependents=False), ["a/b"]),
        (["foregroundDeletion", "a/b"], DeleteOptions(propagation_policy="Background"), ["a/b"]),
        (["a/b", "c/d", "orphan"], DeleteOptions(propagation_policy="Background"), ["a/b", "c/d"]),
    ],
)
def test_finalizers_keep_their_order_unless_they_are_others(
    before: list[str], options: DeleteOptions, after: list[str]
) -> None:
    obj = thing("Deployment", finalizers=before)
    assert mark(scope("apps", "deployments"), obj, options) is Step.KEEP
    assert obj["metadata"]["finalizers"] == after


def test_a_pending_graceful_deletion_takes_no_new_finalizers() -> None:
    obj = pod()
    assert mark(scope("", "pods"), obj, DeleteOptions()) is Step.KEEP
    assert mark(scope("", "pods"), obj, DeleteOptions(propagation_policy="Orphan")) is Step.NOTHING
    assert "finalizers" not in obj["metadata"]


def test_grace_only_gets_shorter_and_never_ends_in_the_past() -> None:
    obj = pod()
    mark(scope("", "pods"), obj, DeleteOptions())
    assert obj["metadata"]["deletionTimestamp"] == "2026-01-01T12:00:30Z"
    assert mark(scope("", "pods", later=2), obj, DeleteOptions(grace_period=60)) is Step.NOTHING
    assert mark(scope("", "pods", later=20), obj, DeleteOptions(grace_period=5)) is Step.KEEP
    assert (
        obj["metadata"]["deletionTimestamp"],
        obj["metadata"]["deletionGracePeriodSeconds"],
    ) == ("2026-01-01T12:00:20Z", 1)
    assert (
        mark(scope("", "pods", later=21), obj, DeleteOptions(grace_period=0))
        is Step.MARK_AND_REMOVE
    )


def test_a_held_pod_without_grace_left_goes_as_it_was_once_nothing_holds_it() -> None:
    obj = pod(
        deletionTimestamp="2026-01-01T11:00:00Z",
        deletionGracePeriodSeconds=0,
        finalizers=["foregroundDeletion"],
    )
    assert (
        mark(scope("", "pods"), obj, DeleteOptions(grace_period=0, propagation_policy="Background"))
        is Step.REMOVE
    )


def test_a_namespace_terminates_and_waits_for_its_own_finalizers() -> None:
    obj = {
        **thing("Namespace"),
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    assert mark(scope("", "namespaces"), obj, DeleteOptions()) is Step.KEEP
    assert obj["status"] == {"phase": "Terminating"}
    assert {"finalizers", "deletionGracePeriodSeconds"}.isdisjoint(obj["metadata"])
    assert mark(scope("", "namespaces"), obj, DeleteOptions()) is Step.NOTHING


@pytest.mark.parametrize(
    ("group", "resource", "kind"),
    [
        ("", "namespaces", "Namespace"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"),
    ],
)
def test_the_second_deletion_of_what_goes_in_two_phases_says_that_no_grace_is_left(
    group: str, resource: str, kind: str
) -> None:
    obj = {**thing(kind, finalizers=["a/b"]), "spec": {}, "status": {}}
    assert mark(scope(group, resource), obj, DeleteOptions()) is Step.KEEP
    since = obj["metadata"]["deletionTimestamp"]
    assert "deletionGracePeriodSeconds" not in obj["metadata"]
    assert mark(scope(group, resource, later=9), obj, DeleteOptions()) is Step.KEEP
    assert obj["metadata"]["deletionGracePeriodSeconds"] == 0
    assert obj["metadata"]["deletionTimestamp"] == since


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        (DeleteOptions(propagation_policy="Foreground"), ["a/b"], ["a/b", "foregroundDeletion"]),
        (DeleteOptions(propagation_policy="Orphan"), ["foregroundDeletion"], ["orphan"]),
        (DeleteOptions(propagation_policy="Background"), ["orphan"], None),
        (DeleteOptions(orphan_dependents=False), ["orphan"], ["foregroundDeletion"]),
        (DeleteOptions(orphan_dependents=True), None, ["orphan"]),
        (DeleteOptions(), ["orphan"], ["orphan"]),
    ],
)
def test_what_is_said_of_dependents_counts_when_a_namespace_begins_to_terminate(
    options: DeleteOptions, before: list[str] | None, after: list[str] | None
) -> None:
    obj = {**thing("Namespace"), "spec": {"finalizers": ["kubernetes"]}}
    if before:
        obj["metadata"]["finalizers"] = before
    assert mark(scope("", "namespaces"), obj, options) is Step.KEEP
    assert obj["metadata"].get("finalizers") == after


def test_preconditions_name_the_kind_but_for_what_is_deleted_in_two_phases() -> None:
    options = DeleteOptions(precondition_uid="other")
    with pytest.raises(Conflict) as plain:
        check_preconditions(scope("", "pods").resource, pod(), options)
    assert plain.value.message.startswith(
        'Operation cannot be fulfilled on Pod "x": the UID in the precondition (other) does not '
        "match"
    )
    with pytest.raises(Conflict) as phased:
        check_preconditions(scope("", "namespaces").resource, thing("Namespace"), options)
    text = (
        'Operation cannot be fulfilled on namespaces "x": Precondition failed: UID in '
        "precondition: other, UID in object meta: u"
    )
    assert phased.value.message == text


def test_preconditions_name_events_of_either_group_alike() -> None:
    options = DeleteOptions(precondition_uid="other")
    for group in ("", "events.k8s.io"):
        with pytest.raises(Conflict) as refused:
            check_preconditions(scope(group, "events").resource, thing("Event"), options)
        assert refused.value.message.startswith('Operation cannot be fulfilled on Event "x": the')
