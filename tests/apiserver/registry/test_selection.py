"""Which fields a kind selects by, and how it refuses others."""

from __future__ import annotations

import pytest

from apiserver.errors import BadRequest
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource

ONLY = 'is not a known field selector: only "metadata.name", "metadata.namespace"'


def known(group: str, resource: str, name: str) -> str:
    found = catalog.resources()[GroupResource(group, resource)]
    return found.stored_field(found.storage_version, name)


@pytest.mark.parametrize(
    ("group", "resource", "name"),
    [
        ("", "pods", "metadata.namespace"),
        ("", "nodes", "spec.unschedulable"),
        ("", "pods", "status.podIPs"),
        ("", "replicationcontrollers", "status.replicas"),
        ("", "namespaces", "status.phase"),
        ("", "persistentvolumes", "metadata.namespace"),
        ("rbac.authorization.k8s.io", "clusterroles", "metadata.namespace"),
    ],
)
def test_a_field_that_the_kind_offers(group: str, resource: str, name: str) -> None:
    assert known(group, resource, name) == name


@pytest.mark.parametrize(
    ("group", "resource", "name", "text"),
    [
        ("", "nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
        ("", "namespaces", "name", "field label not supported: name"),
        ("", "persistentvolumes", "name", f'"name" {ONLY}'),
        ("", "persistentvolumeclaims", "spec.volumeName", f'"spec.volumeName" {ONLY}'),
        ("", "pods", "spec.hostname", "field label not supported: spec.hostname"),
        ("batch", "jobs", "spec.x", 'field label "spec.x" not supported for Job'),
        ("apps", "replicasets", "status.replicas", f'"status.replicas" {ONLY}'),
        (
            "resource.k8s.io",
            "resourceslices",
            "spec.pool",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool",
        ),
    ],
)
def test_a_field_that_it_does_not_offer(group: str, resource: str, name: str, text: str) -> None:
    with pytest.raises(BadRequest) as refused:
        known(group, resource, name)
    assert refused.value.message == text
