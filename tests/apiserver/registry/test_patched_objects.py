"""What a patch or an apply makes of a stored object is an object of its own: admission changes it
in place, and the stored one, with which it is compared, stays as it was."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.kinds.catalog import resources
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.raw import RawObject
from apiserver.registry.managers import make_manager
from apiserver.registry.patchtypes import BY_MEDIA_TYPE, Merging

RAW = {"a": {"b": [1, {"c": None}]}}
MANAGED = [
    {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
    }
]
SPECS: dict[tuple[str, str], Object] = {
    ("", "configmaps"): {"data": {"a": "b"}},
    ("", "pods"): {
        "spec": {
            "containers": [{"name": "c", "image": "i", "env": [{"name": "e", "value": "v"}]}],
            "nodeSelector": {"a": "b"},
        }
    },
    ("apps", "controllerrevisions"): {"revision": 1, "data": RAW},
    ("apiextensions.k8s.io", "customresourcedefinitions"): {
        "spec": {
            "group": "example.com",
            "names": {"plural": "foos", "kind": "Foo"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "default": RAW}},
                }
            ],
        }
    },
}
PATCHES = {
    "application/merge-patch+json": {"metadata": {"labels": {"x": "y"}}},
    "application/strategic-merge-patch+json": {"metadata": {"labels": {"x": "y"}}},
    "application/json-patch+json": [{"op": "add", "path": "/metadata/labels/x", "value": "y"}],
}


def stored(key: tuple[str, str]) -> tuple[Resource, Object]:
    resource = resources()[GroupResource(*key)]
    metadata = {"name": "a", "labels": {"a": "b"}, "managedFields": MANAGED, "uid": "u"}
    obj = copy.deepcopy({"metadata": metadata, **SPECS[key]})
    version = resource.storage_version
    return resource, resource.decode(resource.versions[version], obj)[0]


def spoil(value: Any) -> None:
    """Changes all that anybody may change: neither a RawObject nor a set of fields."""
    if isinstance(value, dict) and not isinstance(value, RawObject):
        for name, member in value.items():
            if name != "fieldsV1":
                spoil(member)
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoilt")


@pytest.mark.parametrize("media_type", PATCHES)
@pytest.mark.parametrize("key", SPECS, ids=lambda key: key[1])
def test_a_patched_object_shares_nothing_with_the_stored_one(
    key: tuple[str, str], media_type: str
) -> None:
    resource, old = stored(key)
    patch, patch_type = copy.deepcopy(PATCHES[media_type]), BY_MEDIA_TYPE[media_type]
    assert isinstance(patch_type, Merging)
    served = resource.versions[resource.storage_version]
    before = copy.deepcopy((old, patch))
    patched = patch_type.apply(old, patch, served.schema)
    new, _ = patch_type.read(patched.value, served.schema, lambda v: resource.decode(served, v))
    assert new["metadata"]["labels"] == {"a": "b", "x": "y"}
    spoil(new)
    assert (old, patch) == before


@pytest.mark.parametrize("changes", [True, False])
@pytest.mark.parametrize("key", SPECS, ids=lambda key: key[1])
def test_what_an_apply_makes_shares_nothing_with_the_stored_one_and_the_intent(
    key: tuple[str, str], changes: bool
) -> None:
    resource, old = stored(key)
    identity = {"apiVersion": old["apiVersion"], "kind": old["kind"]}
    metadata = {"name": "a", "labels": {"x": "y"} if changes else {"a": "b"}}
    intent: Object = copy.deepcopy({**identity, "metadata": metadata, **SPECS[key]})
    before = copy.deepcopy((old, intent))
    merged = make_manager(resource).merge(
        old,
        intent,
        "other",
        force=True,
        api_version=old["apiVersion"],
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert merged.finished is changes
    spoil(merged.object)
    assert (old, intent) == before
