from __future__ import annotations

import json
from pathlib import Path

import pytest

from apiserver.kinds.base import Kind
from apiserver.kinds.catalog import resources
from apiserver.kinds.registration import hooks_for, register
from apiserver.meta.gvk import GroupResource

PODS = GroupResource("", "pods")
HPAS = GroupResource("autoscaling", "horizontalpodautoscalers")


def test_pods_are_served_as_kubernetes_serves_them() -> None:
    pods = resources()[PODS]
    assert (
        pods.kind,
        pods.list_kind,
        pods.singular,
        pods.namespaced,
        pods.short_names,
        pods.categories,
    ) == (
        "Pod",
        "PodList",
        "pod",
        True,
        ("po",),
        ("all",),
    )
    served = pods.versions["v1"]
    assert "deletecollection" in served.verbs
    assert str(served.subresources["eviction"].kind) == "policy/v1, Kind=Eviction"
    assert [c.name for c in served.columns if c.priority == 0] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]


def test_autoscalers_are_stored_in_their_newest_version() -> None:
    hpa = resources()[HPAS]
    assert (hpa.storage_version, list(hpa.versions)) == ("v2", ["v2", "v1"])


def test_both_kinds_of_events_share_one_storage() -> None:
    both = [resources()[GroupResource(group, "events")] for group in ("", "events.k8s.io")]
    assert {r.storage for r in both} == {GroupResource("", "events")}
    assert resources()[PODS].storage == PODS


_UNDESCRIBED = {"runtimeclasses": {"Handler"}}
"""Upstream looks for the description in a type that has none."""


def test_every_column_of_a_table_is_described() -> None:
    assert resources()
    for resource in resources().values():
        for version in resource.versions.values():
            plain = {c.name for c in version.columns if not c.description}
            assert plain == _UNDESCRIBED.get(resource.resource, set()), resource.resource


def test_reviews_have_no_table() -> None:
    assert (
        resources()[GroupResource("authentication.k8s.io", "tokenreviews")].versions["v1"].columns
        == ()
    )


def test_deprecated_resources_carry_their_warning() -> None:
    text = resources()[GroupResource("", "endpoints")].versions["v1"].deprecated
    assert text == "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    assert not resources()[PODS].versions["v1"].deprecated


def test_hooks_know_their_kind() -> None:
    assert resources()
    for resource in resources().values():
        assert (resource.hooks.group, resource.hooks.kind) == (resource.group, resource.kind)


def test_a_new_object_has_the_status_that_go_writes() -> None:
    nodes = resources()[GroupResource("", "nodes")].hooks
    assert nodes.zero_status["v1"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}


def test_a_kind_is_registered_once() -> None:
    @register("test.example.com", "Once")
    class Once(Kind):
        pass

    assert isinstance(hooks_for("test.example.com", "Once"), Once)
    with pytest.raises(ValueError, match=r"Once\.test\.example\.com is registered twice"):
        register("test.example.com", "Once")(Once)


@pytest.mark.shared
def test_nothing_is_missing(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "resources.json").read_text())
    served = {
        (r.group, v, r.resource)
        for r in resources().values()
        for v in r.versions
        if not r.group.endswith(".polyplane.dev")  # Kubernetes knows nothing of our own
    }
    assert served == {(f["group"], f["version"], f["resource"]) for f in facts}
    for fact in facts:
        version = resources()[GroupResource(fact["group"], fact["resource"])].versions[
            fact["version"]
        ]
        assert list(version.verbs) == fact["verbs"]
        assert set(version.subresources) == {s["subresource"] for s in fact.get("subresources", ())}


@pytest.mark.shared
def test_columns_are_kubernetes_columns(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "table-columns.json").read_text())
    assert facts
    for key, columns in facts.items():
        group, version, name = key.split("/")
        shown = resources()[GroupResource(group, name)].versions[version].columns
        assert [[c.name, c.type, c.format, c.priority] for c in shown] == columns, key
