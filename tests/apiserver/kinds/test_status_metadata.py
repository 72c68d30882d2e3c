"""What a write of /status may do to metadata, kind by kind (``PrepareForUpdate`` of status
strategies in kubernetes ``pkg/registry``)."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from apiserver.kinds import catalog
from apiserver.kinds.base import Kind
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from tests.support.definitions import CONTEXT, definition, resource_of

_ALL = {"labels", "annotations", "finalizers", "ownerReferences"}
KEPT: dict[str, set[str]] = {
    "search.polyplane.dev/fieldindexes": _ALL,
    "admissionregistration.k8s.io/validatingadmissionpolicies": _ALL,
    "apiextensions.k8s.io/customresourcedefinitions": set(),
    "apiregistration.k8s.io/apiservices": _ALL,
    "apps/daemonsets": set(),
    "apps/deployments": {"labels"},
    "apps/replicasets": set(),
    "apps/statefulsets": set(),
    "autoscaling/horizontalpodautoscalers": set(),
    "batch/cronjobs": set(),
    "batch/jobs": set(),
    "certificates.k8s.io/certificatesigningrequests": set(),
    "flowcontrol.apiserver.k8s.io/flowschemas": {*_ALL, "generateName"},
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": {*_ALL, "generateName"},
    "namespaces": set(),
    "networking.k8s.io/ingresses": set(),
    "networking.k8s.io/servicecidrs": _ALL,
    "nodes": set(),
    "persistentvolumeclaims": set(),
    "persistentvolumes": set(),
    "pods": {"ownerReferences"},
    "policy/poddisruptionbudgets": set(),
    "replicationcontrollers": set(),
    "resource.k8s.io/resourceclaims": _ALL,
    "resourcequotas": set(),
    "services": set(),
    "storage.k8s.io/volumeattachments": _ALL,
}
"""What stays as it is stored, of what clients can set at all."""
OLD: Object = {
    "generateName": "x-",
    "labels": {"a": "old"},
    "annotations": {"a": "old"},
    "finalizers": ["x/old"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "old", "uid": "1"}],
}
NEW: Object = {
    "generateName": "y-",
    "labels": {"a": "new", "b": "new"},
    "annotations": {"a": "new"},
    "finalizers": ["x/new"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "new", "uid": "2"}],
}


def kept(hooks: Kind, old: Object, sent: Object, version: str = "v1") -> set[str]:
    """Which members are as they were, after a write of /status that sends others."""
    identity = {"name": "x", "uid": "u", "resourceVersion": "7"}
    before = {
        "metadata": {**identity, **copy.deepcopy(old)},
        "spec": {"old": True},
        "status": {"old": True},
    }
    obj = {
        "metadata": {**identity, **copy.deepcopy(sent), "managedFields": [{}]},
        "spec": {"new": True},
        "status": {"new": True},
    }
    hooks.prepare_status_update(obj, before, replace(CONTEXT, version=version))
    assert (
        obj["spec"] == {"old": True}
        and obj["status"]["new"]
        and obj["metadata"]["managedFields"] == [{}]
    )
    assert before["metadata"] == {**identity, **old}, "what is stored is not changed"
    return {name for name in OLD if obj["metadata"].get(name) == old.get(name)}


def test_every_kind_with_status_is_in_the_table() -> None:
    resources = catalog.resources().items()
    with_status = {
        key for key, r in resources if "status" in r.versions[r.storage_version].subresources
    }
    assert {"/".join(filter(None, key)) for key in with_status} == set(KEPT)


@pytest.mark.parametrize(
    ("old", "sent"), [(OLD, NEW), ({}, NEW), (OLD, {})], ids=["changed", "added", "removed"]
)
@pytest.mark.parametrize("name", KEPT)
def test_built_in_kinds(name: str, old: Object, sent: Object) -> None:
    group, _, resource = name.rpartition("/")
    found = catalog.resources()[GroupResource(group, resource)]
    assert kept(found.hooks, old, sent, found.storage_version) == KEPT[name]


@pytest.mark.parametrize("name", [name for name, members in KEPT.items() if members >= _ALL])
def test_kinds_that_keep_metadata_keep_the_time_of_deletion(name: str) -> None:
    """So that one which is sent is no mistake; elsewhere validation compares it."""
    group, _, resource = name.rpartition("/")
    hooks = catalog.resources()[GroupResource(group, resource)].hooks
    before = {"metadata": {"name": "x"}, "spec": {}, "status": {}}
    obj = copy.deepcopy(before)
    obj["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    hooks.prepare_status_update(obj, before, CONTEXT)
    assert obj["metadata"] == before["metadata"]


@pytest.mark.parametrize(
    ("old", "sent"), [(OLD, NEW), ({}, NEW), (OLD, {})], ids=["changed", "added", "removed"]
)
def test_custom_resources_keep_all_but_who_manages_what(old: Object, sent: Object) -> None:
    hooks = resource_of(definition(subresources={"status": {}})).hooks
    assert kept(hooks, old, sent) == set(OLD)
