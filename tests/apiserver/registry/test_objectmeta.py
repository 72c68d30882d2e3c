"""Metadata rules (k8s.io/apimachinery ``api/validation/objectmeta.go``): texts, and how often an
update names one mistake."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from apiserver.kinds import catalog
from apiserver.kinds.base import Kind
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.objectmeta import validate, validate_update

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}


def hooks(group: str, resource: str) -> Kind:
    return catalog.resources()[GroupResource(group, resource)].hooks


def obj(**metadata: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "ns", "resourceVersion": "1", **metadata}}


def messages(group: str = "", resource: str = "configmaps", **metadata: Any) -> list[str]:
    return [str(e) for e in validate(obj(**metadata), hooks(group, resource), namespaced=True)]


def counted(group: str, resource: str, *, whole: bool = True, **metadata: Any) -> Counter[str]:
    kind = hooks(group, resource)
    return Counter(
        e.path for e in validate_update(obj(**metadata), obj(), kind, namespaced=True, whole=whole)
    )


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        (
            OWNER | {"apiVersion": "a/b/c"},
            'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be '
            "empty",
        ),
        (
            OWNER | {"kind": ""},
            'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        ),
        (
            {"apiVersion": "v1", "kind": "Event", "name": "o", "uid": "1"},
            "metadata.ownerReferences: Invalid value: "
            '{"apiVersion":"v1","kind":"Event","name":"o","uid":"1"}: '
            "/v1, Kind=Event is disallowed from being an owner",
        ),
    ],
)
def test_an_owner_must_be_named_in_full(owner: Object, text: str) -> None:
    assert messages(ownerReferences=[owner]) == [text]


def test_one_controller_is_enough() -> None:
    two = [OWNER | {"controller": True}, OWNER | {"name": "p", "controller": True}]
    (text,) = messages(ownerReferences=two)
    assert text == (
        "metadata.ownerReferences: Invalid value: "
        '[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1","controller":true},'
        '{"apiVersion":"v1","kind":"ConfigMap","name":"p","uid":"1","controller":true}]: '
        'Only one reference can have Controller set to true. Found "true" in references for '
        "ConfigMap/o and ConfigMap/p"
    )


def test_the_garbage_collectors_finalizers_exclude_each_other() -> None:
    text = (
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer '
        "orphan and foregroundDeletion cannot be both set"
    )
    assert messages(finalizers=["orphan", "foregroundDeletion"]) == [text]


def test_finalizers_without_a_domain_are_refused_by_the_kinds_that_ask_for_one() -> None:
    text = (
        'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard '
        "finalizer name nor is it fully qualified"
    )
    assert messages(finalizers=["mine"]) == [text]
    for group, resource in (("coordination.k8s.io", "leases"), ("node.k8s.io", "runtimeclasses")):
        assert messages(group, resource, finalizers=["mine"]) == []


@pytest.mark.parametrize(
    ("group", "resource", "labels"),
    [
        ("", "configmaps", 4),
        ("", "services", 3),
        ("apps", "deployments", 3),
        ("apps", "replicasets", 3),
        ("coordination.k8s.io", "leases", 3),
    ],
)
def test_an_update_names_a_mistake_as_often_as_it_is_validated(
    group: str, resource: str, labels: int
) -> None:
    assert counted(group, resource, labels={"a": "not good"})["metadata.labels"] == labels
    assert counted(group, resource, finalizers=["a/b/c"])["metadata.finalizers"] == labels - 2
    assert counted(group, resource, uid="other")["metadata.uid"] == 2


def test_limit_ranges_are_not_compared_with_what_is_stored() -> None:
    assert counted("", "limitranges", labels={"a": "not good"})["metadata.labels"] == 3
    assert counted("", "limitranges", uid="other")["metadata.uid"] == 1


@pytest.mark.parametrize(
    ("group", "resource", "labels", "uids", "names"),
    [
        ("", "services", 3, 2, 0),
        ("", "persistentvolumes", 3, 2, 0),
        ("batch", "cronjobs", 2, 1, 0),
        ("storage.k8s.io", "volumeattachments", 3, 1, 1),
        ("certificates.k8s.io", "certificatesigningrequests", 4, 2, 0),
    ],
)
def test_so_does_a_write_of_the_status(
    group: str, resource: str, labels: int, uids: int, names: int
) -> None:
    def found(**metadata: Any) -> Counter[str]:
        return counted(group, resource, whole=False, **metadata)

    assert found(labels={"a": "not good"})["metadata.labels"] == labels
    assert found(uid="other")["metadata.uid"] == uids
    assert found(generateName="x_Y")["metadata.generateName"] == names


@pytest.mark.parametrize(
    ("group", "resource", "labels", "uid", "finalizers"),
    [
        ("apps", "deployments", 3, 2, 1),
        ("batch", "cronjobs", 2, 1, 0),
        ("certificates.k8s.io", "certificatesigningrequests", 4, 2, 2),
        ("", "persistentvolumes", 3, 2, 1),
    ],
)
def test_an_update_of_the_status_names_it_as_often_as_that_is_validated(
    group: str, resource: str, labels: int, uid: int, finalizers: int
) -> None:
    wrong = counted(
        group, resource, whole=False, labels={"a": "not good"}, uid="other", finalizers=["mine"]
    )
    found = (wrong["metadata.labels"], wrong["metadata.uid"], wrong["metadata.finalizers[0]"])
    assert found == (labels, uid, finalizers)


def test_limit_ranges_and_runtime_classes_ask_for_less() -> None:
    wrong = counted("", "limitranges", labels={"a": "not good"}, uid="other")
    assert (wrong["metadata.labels"], wrong["metadata.uid"]) == (3, 1)
    assert not counted("node.k8s.io", "runtimeclasses", finalizers=["mine"])[
        "metadata.finalizers[0]"
    ]


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            {"manager": "x\ty"},
            r'[0].manager: Invalid value: "x\ty": invalid character U+0009 (at position 1)',
        ),
        ({"manager": "m" * 129}, "[0].manager: Too long: may not be more than 128 bytes"),
        ({"subresource": "s" * 257}, "[0].subresource: Too long: may not be more than 256 bytes"),
        (
            {"operation": "Write"},
            '[0].operation: Invalid value: "Write": must be `Apply` or `Update`',
        ),
        (
            {"fieldsType": "FieldsV2"},
            '[0].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
        ),
    ],
)
def test_managers_are_looked_at(entry: Object, text: str) -> None:
    good = {"manager": "m" * 128, "operation": "Apply", "fieldsType": "FieldsV1"}
    assert messages(managedFields=[good]) == []
    assert messages(managedFields=[good | entry]) == [f"metadata.managedFields{text}"]
