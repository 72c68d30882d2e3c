"""Managers who wrote in versions that are no more: of built-in kinds they are forgotten, of custom
resources they stop applies."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.errors import ApiError
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.managers import make_manager
from tests.support.definitions import definition, resource_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
}
AUTOSCALERS = catalog.resources()[GroupResource("autoscaling", "horizontalpodautoscalers")]
DEPLOYMENTS = catalog.resources()[GroupResource("apps", "deployments")]


def entry(api_version: str) -> Object:
    return {
        "manager": "old",
        "operation": "Apply",
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {}},
    }


def deployment(**metadata: Any) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", **metadata},
        "spec": {"replicas": 1},
    }


def foo(a: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "x", **metadata},
        "spec": {"a": a},
    }


def test_managers_in_removed_versions_of_built_in_kinds_go() -> None:
    manager = make_manager(DEPLOYMENTS)
    live = deployment(uid="u", managedFields=[entry("extensions/v1beta1")])
    new = manager.apply(live, deployment(), "new", force=False, api_version="apps/v1", now=NOW)
    assert [e["manager"] for e in new["metadata"]["managedFields"]] == ["new"]


def test_what_another_version_always_has_is_not_given_up() -> None:
    """A number of replicas is in every object of Go's type, so nothing takes it from one."""
    manager = make_manager(AUTOSCALERS)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}

    def autoscaler(version: str, **spec: Any) -> Object:
        return {
            "apiVersion": f"autoscaling/{version}",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "x"},
            "spec": spec,
        }

    def apply(live: Object | None, version: str, **spec: Any) -> Object:
        return manager.apply(
            live,
            autoscaler(version, **spec),
            "m",
            force=False,
            api_version=f"autoscaling/{version}",
            now=NOW,
        )

    made = apply(None, "v1", scaleTargetRef=target, maxReplicas=3)
    made["metadata"]["uid"] = "u"
    new = apply(made, "v2")
    assert (new["spec"]["maxReplicas"], new["spec"]["scaleTargetRef"]) == (3, target)
    assert new["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {}}


@pytest.fixture
def live() -> Object:
    return foo("1", uid="u", managedFields=[entry("example.com/v1alpha1")])


def test_managers_in_removed_versions_of_definitions_stop_applies(live: Object) -> None:
    manager = make_manager(resource_of(definition(SCHEMA)))
    with pytest.raises(ApiError) as refused:
        manager.apply(live, foo("1"), "new", force=True, api_version="example.com/v1", now=NOW)
    assert refused.value.code == 500
    assert (
        refused.value.message
        == "request to convert CR to an invalid group/version: example.com/v1alpha1"
    )


def test_an_update_then_loses_all_managers(live: Object) -> None:
    manager = make_manager(resource_of(definition(SCHEMA)))
    new = manager.update(live, foo("2", uid="u"), "new", api_version="example.com/v1", now=NOW)
    assert "managedFields" not in new["metadata"]
