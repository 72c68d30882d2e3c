"""What each write may own at all."""

from __future__ import annotations

import pytest

from apiserver.fieldmanager import reset
from apiserver.fieldmanager.fieldpath import decode
from apiserver.meta.gvk import GroupResource

EVERYTHING = decode(
    {
        "f:metadata": {
            "f:labels": {"f:a": {}},
            "f:annotations": {"f:b": {}},
            "f:ownerReferences": {},
        },
        "f:spec": {
            "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:resources": {}}},
            "f:ephemeralContainers": {},
        },
        "f:status": {"f:conditions": {}, "f:certificate": {}},
    }
)


@pytest.mark.parametrize(
    ("resource", "subresource", "kept"),
    [
        ("deployments.apps", "", ["f:metadata", "f:spec"]),
        (
            "deployments.apps",
            "status",
            ["f:metadata/f:annotations", "f:metadata/f:ownerReferences", "f:status"],
        ),
        ("statefulsets.apps", "status", ["f:metadata", "f:status"]),
        ("flowschemas.flowcontrol.apiserver.k8s.io", "status", ["f:status"]),
        ("pods.", "status", ["f:metadata/f:labels", "f:metadata/f:annotations", "f:status"]),
        ("certificatesigningrequests.certificates.k8s.io", "", ["f:metadata"]),
        (
            "certificatesigningrequests.certificates.k8s.io",
            "approval",
            ["f:metadata", "f:status/f:conditions"],
        ),
        (
            "certificatesigningrequests.certificates.k8s.io",
            "status",
            ["f:metadata", "f:status/f:certificate"],
        ),
    ],
)
def test_built_in_kinds(resource: str, subresource: str, kept: list[str]) -> None:
    name, _, group = resource.partition(".")
    filters = reset.built_in(GroupResource(group, name), ["v1"], ["status", "approval"])
    found = filters[subresource]["v1"](EVERYTHING)
    shown = []
    for element, node in found.items():
        whole = node == EVERYTHING[element]
        shown += [element] if whole else [f"{element}/{below}" for below in node]
    assert shown == kept


def test_who_sends_a_whole_pod_to_resize_owns_it() -> None:
    """Its strategy has a filter, which the endpoint does not pass on; likewise
    ephemeralcontainers."""
    subresources = ["status", "resize", "ephemeralcontainers"]
    filters = reset.built_in(GroupResource("", "pods"), ["v1"], subresources)
    assert sorted(filters) == ["", "status"]


def test_writes_of_service_ranges_are_filtered() -> None:
    """Since 1.36; before, kube-apiserver registered their sets under a group that nobody serves."""
    filters = reset.built_in(
        GroupResource("networking.k8s.io", "servicecidrs"), ["networking.k8s.io/v1"], ["status"]
    )
    assert list(filters[""]["networking.k8s.io/v1"](EVERYTHING)) == ["f:metadata", "f:spec"]
    assert list(filters["status"]["networking.k8s.io/v1"](EVERYTHING)) == ["f:status"]


def test_without_a_status_subresource_everything_may_be_owned() -> None:
    assert reset.built_in(GroupResource("", "configmaps"), ["v1"], []) == {}


def test_custom_resources() -> None:
    filters = reset.custom(["g/v1"])
    assert list(filters[""]["g/v1"](EVERYTHING)) == ["f:metadata", "f:spec"]
    assert list(filters["status"]["g/v1"](EVERYTHING)) == ["f:status"]
