"""Declared rules in the way of a write."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from apiserver.fielderrors import required
from apiserver.kinds.catalog import resources
from apiserver.kinds.declarative.run import DEFAULT_GATES, Gates, covered
from apiserver.meta.gvk import GroupResource
from apiserver.registry.write import with_declared


def errors_of(
    group: str,
    name: str,
    obj: dict[str, Any],
    written: list[Any],
    gates: Gates = DEFAULT_GATES,
    subresource: str = "",
) -> list[str]:
    resource = resources()[GroupResource(group, name)]
    scope: Any = SimpleNamespace(
        resource=resource,
        version="v1",
        schema=resource.versions["v1"].schema,
        subresource=subresource,
    )
    return [str(e) for e in with_declared(gates, scope, obj, None, written)]


def test_declared_errors_follow_the_others() -> None:
    lease = {"spec": {"leaseTransitions": -1}}
    assert errors_of("coordination.k8s.io", "leases", lease, [required("metadata.name")]) == [
        "metadata.name: Required value",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]


def test_the_gates_of_the_registry_count() -> None:
    [twin] = covered([required("rules[0].verbs", "by hand")])
    role = {"rules": [{"apiGroups": [""]}]}
    group = "rbac.authorization.k8s.io"
    assert errors_of(group, "roles", role, [twin]) == ["rules[0].verbs: Required value: by hand"]
    assert errors_of(group, "roles", role, [twin], Gates(takeover=True)) == [
        "rules[0].verbs: Required value"
    ]


def test_kinds_without_rules_and_other_subresources_stay_as_they_are() -> None:
    assert errors_of("", "configmaps", {}, []) == []
    assert (
        errors_of(
            "policy",
            "poddisruptionbudgets",
            {"status": {"expectedPods": -1}},
            [],
            subresource="other",
        )
        == []
    )
    assert (
        len(
            errors_of(
                "policy",
                "poddisruptionbudgets",
                {"status": {"expectedPods": -1}},
                [],
                subresource="status",
            )
        )
        == 1
    )
