"""Rules of the storage kinds that clients see: words, paths, generations, warnings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.fielderrors import ErrorType
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.core.persistentvolume import PersistentVolume
from apiserver.kinds.core.persistentvolumeclaim import PersistentVolumeClaim
from apiserver.kinds.storage.csidriver import CSIDriver
from apiserver.kinds.storage.csinode import CSINode
from apiserver.kinds.storage.csistoragecapacity import CSIStorageCapacity
from apiserver.kinds.storage.storageclass import StorageClass
from apiserver.kinds.storage.volumeattachment import VolumeAttachment
from apiserver.kinds.storage.volumeattributesclass import VolumeAttributesClass
from apiserver.meta.objects import Object
from apiserver.schema.decode_errors import Empty

CONTEXT = WriteContext("v1", datetime(2026, 1, 1, tzinfo=UTC))
EMPTY = Empty(("parameters",), dict)
ATTRIBUTES: Object = {"driverName": "example.com/driver", "parameters": {"a": "b"}}


def node(**driver: Any) -> Object:
    return {"spec": {"drivers": [{"name": "d", "nodeID": "n", **driver}]}}


def volume(**spec: Any) -> Object:
    return {
        "metadata": {},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/a", "type": ""},
            **spec,
        },
    }


@pytest.mark.parametrize(
    ("kind", "new", "old", "errors"),
    [
        (VolumeAttributesClass(), ATTRIBUTES, ATTRIBUTES, []),
        (
            VolumeAttributesClass(),
            {**ATTRIBUTES, "driverName": "other", "parameters": {}},
            ATTRIBUTES,
            [
                "parameters: Required value: must contain at least one key/value pair",
                "driverName: Forbidden: updates to driverName are forbidden.",
                "parameters: Forbidden: updates to parameters are forbidden.",
            ],
        ),
        (CSINode(), node(allocatable={"count": 1}), node(), []),
        (
            CSINode(),
            node(topologyKeys=["a"], allocatable={"count": 1}),
            node(),
            [
                'spec.drivers: Invalid value: {"Name":"d","NodeID":"n","TopologyKeys":["a"],'
                '"Allocatable":null}: field is immutable'
            ],
        ),
        (CSINode(), node(topologyKeys=["a", "a"]), None, ['spec.drivers[0]: Duplicate value: "a"']),
        (
            StorageClass(),
            {"provisioner": "p", "volumeBindingMode": "Immediate", "allowedTopologies": [{}, {}]},
            None,
            ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""'] * 2
            + ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'] * 3,
        ),
        (
            PersistentVolume(),
            volume(capacity={}),
            None,
            [
                "spec.capacity: Required value",
                'spec.capacity: Unsupported value: {}: supported values: "storage"',
            ],
        ),
        (
            PersistentVolume(),
            volume(accessModes=None),
            volume(),
            ["spec.accessModes: Required value"] * 2,
        ),
    ],
)
def test_errors(kind: Kind, new: Object, old: Object | None, errors: list[str]) -> None:
    found = kind.validate(new, CONTEXT)
    found += (
        kind.validate_create(new, CONTEXT)
        if old is None
        else kind.validate_update(new, old, CONTEXT)
    )
    assert [str(error) for error in found] == errors


@pytest.mark.parametrize(("empties", "shown"), [([], "null"), ([EMPTY], "{}")])
def test_parameters_that_are_taken_away_are_quoted_as_they_were_sent(
    empties: list[Empty], shown: str
) -> None:
    there: Object = {"provisioner": "p", "parameters": {"a": "b"}}
    context = replace(CONTEXT, empties=empties)
    (error,) = StorageClass().validate_update({"provisioner": "p"}, there, context)
    assert str(error) == f"parameters: Invalid value: {shown}: field is immutable"
    assert StorageClass().validate_update({"provisioner": "p"}, {"provisioner": "p"}, context) == []


def driver(generation: int = 0, **spec: Any) -> Object:
    return {"metadata": {"generation": generation} if generation else {}, "spec": spec}


@pytest.mark.parametrize(
    ("new", "old", "generation"),
    [
        (driver(podInfoOnMount=True), driver(podInfoOnMount=False), 1),
        (driver(podInfoOnMount=True), driver(3, podInfoOnMount=False), 4),
        (driver(podInfoOnMount=True), driver(podInfoOnMount=True), None),
        (driver(preventPodSchedulingIfMissing=True), driver(), None),
    ],
)
def test_generations_of_csi_drivers(new: Object, old: Object, generation: int | None) -> None:
    CSIDriver().prepare_update(new, old, CONTEXT)
    assert new["metadata"].get("generation") == generation
    assert "preventPodSchedulingIfMissing" not in new["spec"]


def test_csi_drivers_are_warned_of_tokens_that_changed() -> None:
    tokens = driver(tokenRequests=[{"audience": "a"}])
    assert len(CSIDriver().warnings(tokens, None, CONTEXT)) == 1
    assert len(CSIDriver().warnings(tokens, driver(), CONTEXT)) == 1
    assert not CSIDriver().warnings(tokens, tokens, CONTEXT)
    safe = driver(tokenRequests=[{"audience": "a"}], serviceAccountTokenInSecrets=True)
    assert not CSIDriver().warnings(safe, None, CONTEXT)


SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
OTHER = {"apiGroup": "example.com", "kind": "Other", "name": "s"}


def both(source: Object) -> Object:
    return {"dataSource": source, "dataSourceRef": source}


@pytest.mark.parametrize(
    ("spec", "old", "kept"),
    [
        ({"dataSource": SNAPSHOT}, {}, both(SNAPSHOT)),
        ({"dataSource": OTHER}, {}, {}),
        ({"dataSource": OTHER}, {"dataSource": SNAPSHOT}, both(OTHER)),
        ({"dataSourceRef": OTHER}, {}, both(OTHER)),
        ({"dataSourceRef": {**OTHER, "namespace": "n"}}, {}, {}),
    ],
)
def test_claims_lose_data_sources_that_nobody_can_mean(
    spec: Object, old: Object, kept: Object
) -> None:
    claim: Object = {"metadata": {}, "spec": dict(spec)}
    PersistentVolumeClaim().prepare_update(claim, {"metadata": {}, "spec": old}, CONTEXT)
    assert claim["spec"] == kept


def test_how_long_the_id_of_a_node_is() -> None:
    assert CSINode().validate(node(nodeID="n" * 256), CONTEXT) == []
    assert [str(e) for e in CSINode().validate(node(nodeID="n" * 257), CONTEXT)] == [
        f'spec.drivers[0].nodeID: Invalid value: "{"n" * 257}": must be 256 characters or less'
    ]


def attachment(name: str, **status: Any) -> Object:
    source = {"persistentVolumeName": name}
    return {"spec": {"attacher": "a", "nodeName": "n", "source": source}, "status": status}


def test_what_is_said_of_an_attachment_is_bounded() -> None:
    kind = VolumeAttachment()
    old = attachment("v")
    new = attachment(
        "v",
        attached=True,
        attachmentMetadata={"k": "v" * 256 * 1024},
        attachError={"message": "m" * 1025, "errorCode": -1},
    )
    assert [str(e) for e in kind.validate_status_update(new, old, CONTEXT)] == [
        "status.attachmentMetadata: Too long: may not be more than 262144 bytes",
        "status.attachError.message: Too long: may not be more than 262144 bytes",
        "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, "
        "inclusive",
    ]
    assert kind.validate_status_update(attachment("v", attached=True), old, CONTEXT) == []


def test_an_attached_volume_has_a_name() -> None:
    first, second = VolumeAttachment().validate(attachment(""), CONTEXT)
    assert first.type is ErrorType.REQUIRED and second.type is ErrorType.INVALID
    assert first.path == second.path == "spec.source.persistentVolumeName"


def test_capacities_warn_of_old_labels_of_nodes() -> None:
    requirement = {"key": "beta.kubernetes.io/os", "operator": "Exists"}
    topology = {
        "matchExpressions": [requirement],
        "matchLabels": {"beta.kubernetes.io/arch": "a", "x": "y"},
    }
    obj = {"metadata": {}, "storageClassName": "c", "nodeTopology": topology}
    assert CSIStorageCapacity().warnings(obj, None, CONTEXT) == [
        "nodeTopology.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; "
        'use "kubernetes.io/os" instead',
        "nodeTopology.matchLabels.beta.kubernetes.io/arch: deprecated since v1.14; use "
        '"kubernetes.io/arch" instead',
    ]


def test_the_largest_volume_may_be_anything() -> None:
    obj = {"metadata": {}, "storageClassName": "c", "maximumVolumeSize": "-1"}
    assert CSIStorageCapacity().validate(obj, CONTEXT) == []


def test_names_of_iscsi_and_of_a_second_source_in_a_persistent_volume() -> None:
    iscsi: Object = {"targetPortal": "1.2.3.4", "iqn": "x", "initiatorName": "y", "secretRef": {}}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    sources = {"iscsi": iscsi, "cephfs": {"monitors": ["a"]}}
    for names, expected in (
        (
            ["iscsi"],
            [
                'spec.iscsi.iqn: Invalid value: "x": must be valid format',
                'spec.iscsi.initiatorname: Invalid value: "y": must be valid format',
                "spec.iscsi.secretRef.name: Required value",
            ],
        ),
        (
            ["cephfs", "nfs"],
            ["spec.cephFS: Forbidden: may not specify more than 1 volume type"],
        ),
    ):
        chosen = {name: sources.get(name, {"server": "s", "path": "/"}) for name in names}
        obj = {"metadata": {"name": "v"}, "spec": {**spec, **chosen}}
        assert [str(e) for e in PersistentVolume().validate(obj, CONTEXT)] == expected
