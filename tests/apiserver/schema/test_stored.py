"""What storage makes of empty lists."""

from __future__ import annotations

from typing import Any

from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode import decode
from apiserver.schema.stored import null_empty_lists


def stored(group: str, version: str, kind: str, **members: Any) -> dict[str, Any]:
    schema = schema_for(GroupVersionKind(group, version, kind))
    obj: dict[str, Any] = decode(schema, {"metadata": {"name": "x"}, **members}).value
    null_empty_lists(schema, obj)
    return obj


def test_lists_without_omitempty_become_null() -> None:
    assert stored("rbac.authorization.k8s.io", "v1", "ClusterRole", rules=[])["rules"] is None
    assert stored("", "v1", "Pod", spec={"containers": []})["spec"]["containers"] is None
    assert stored("", "v1", "LimitRange", spec={"limits": []})["spec"]["limits"] is None


def test_lists_in_items_of_lists_too() -> None:
    role = stored(
        "rbac.authorization.k8s.io",
        "v1",
        "Role",
        rules=[{"verbs": [], "apiGroups": ["a"]}, {"verbs": ["get"]}],
    )
    assert [rule["verbs"] for rule in role["rules"]] == [None, ["get"]]


def test_values_and_groups_that_are_stored_as_json_stay() -> None:
    assert stored("rbac.authorization.k8s.io", "v1", "Role", rules=[{"verbs": ["get"]}])[
        "rules"
    ] == [{"verbs": ["get"]}]
    assert (
        stored("apiextensions.k8s.io", "v1", "CustomResourceDefinition", spec={"versions": []})[
            "spec"
        ]["versions"]
        == []
    )
