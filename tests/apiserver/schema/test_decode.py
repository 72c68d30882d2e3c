from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.schema.builtin import definition, schema_for
from apiserver.schema.decode import Decoded, DecodeError, decode


def go(obj: dict[str, Any]) -> Decoded:
    group, version = GroupVersion.parse(obj["apiVersion"])
    return decode(schema_for(GroupVersionKind(group, version, obj["kind"])), obj)


def pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec}


def error(obj: dict[str, Any]) -> str:
    with pytest.raises(DecodeError) as raised:
        go(obj)
    return str(raised.value)


def test_zero_values_come_and_go_as_in_go() -> None:
    obj = go(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a", "creationTimestamp": None, "labels": {}},
            "spec": {"replicas": 0, "paused": False, "minReadySeconds": 0, "selector": None},
        }
    ).value
    assert obj == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "status": {},
        "spec": {
            "replicas": 0,
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
    }


def test_times_of_events_are_null_when_missing() -> None:
    assert go({"apiVersion": "v1", "kind": "Event"}).value == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


def test_lists_without_omitempty_are_kept_as_sent() -> None:
    assert (
        go(
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
        ).value["rules"]
        == []
    )
    crd = go(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "spec": {"versions": []},
        }
    )
    assert crd.value["spec"]["versions"] == []
    assert crd.value["status"]["conditions"] is None


def test_quantities_times_and_bytes_come_back_in_one_spelling() -> None:
    resources = {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": 0.5}}
    field = {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}
    container = go(
        pod({"containers": [{"name": "c", "resources": resources, "env": [field]}]})
    ).value["spec"]["containers"][0]
    assert container["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m"},
    }
    assert container["env"][0]["valueFrom"]["resourceFieldRef"]["divisor"] == "0"
    secret = go(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "data": {"a": "YR==", "b": None, "c": [97]},
            "stringData": {"a": None},
            "metadata": {"creationTimestamp": "2020-01-01T01:00:00.5+01:00"},
        }
    ).value
    assert secret["data"] == {"a": "YQ==", "b": "", "c": "YQ=="}
    assert secret["stringData"] == {"a": ""}
    assert secret["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"


def test_unknown_fields_are_reported_in_the_order_of_the_input() -> None:
    result = go(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "Spec": 1,
            "spec": {
                "containers": [{"name": "a"}, {"ports": [{"hostIp": "x"}], "prots": []}],
                "spec": 1,
            },
            "metadata": {"nickname": "x"},
        }
    )
    assert result.strict == [
        'unknown field "Spec"',
        'unknown field "spec.containers[1].ports[0].hostIp"',
        'unknown field "spec.containers[1].prots"',
        'unknown field "spec.spec"',
        'unknown field "metadata.nickname"',
    ]
    assert "Spec" not in result.value and "spec" not in result.value["spec"]


def test_unknown_fields_stop_at_a_hundred() -> None:
    assert (
        len(go({"apiVersion": "v1", "kind": "Pod", **{f"x{i}": 1 for i in range(200)}}).strict)
        == 100
    )


STRUCT = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": "x"}, STRUCT.format("string", "PodSpec.spec.containers", "[]v1.Container")),
        ({"containers": ["x"]}, STRUCT.format("string", "PodSpec.spec.containers", "v1.Container")),
        (
            {"containers": [{"ports": [{"hostPort": ""}]}]},
            STRUCT.format("string", "ContainerPort.spec.containers.ports.hostPort", "int32"),
        ),
        ({"priority": 1.5}, STRUCT.format("number 1.5", "PodSpec.spec.priority", "int32")),
        ({"priority": 2**31}, STRUCT.format("number 2147483648", "PodSpec.spec.priority", "int32")),
        ({"hostNetwork": 1}, STRUCT.format("number", "PodSpec.spec.hostNetwork", "bool")),
        (
            {"restartPolicy": True},
            STRUCT.format("bool", "PodSpec.spec.restartPolicy", "v1.RestartPolicy"),
        ),
        (
            {"nodeSelector": {"a": 1}},
            STRUCT.format("number", "PodSpec.spec.nodeSelector", "string"),
        ),
        (  # embedded structs are named on the way
            {"volumes": [{"hostPath": {"path": 1}}]},
            STRUCT.format(
                "number", "HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.path", "string"
            ),
        ),
        (
            {"containers": [{"livenessProbe": {"exec": 1}}]},
            STRUCT.format(
                "number", "Probe.spec.containers.livenessProbe.ProbeHandler.exec", "v1.ExecAction"
            ),
        ),
        (
            {"securityContext": []},
            STRUCT.format("array", "PodSpec.spec.securityContext", "v1.PodSecurityContext"),
        ),
        ({"overhead": []}, STRUCT.format("array", "PodSpec.spec.overhead", "v1.ResourceList")),
        (
            {"overhead": {"cpu": "x"}},
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            {"overhead": {"cpu": True}},
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_type_errors(spec: dict[str, Any], expected: str) -> None:
    assert error(pod(spec)) == expected


def test_the_first_type_error_wins_but_a_bad_quantity_ends_it_all() -> None:
    wrong = {"hostNetwork": 1, "priority": "x"}
    assert "hostNetwork" in error(pod(wrong))
    assert error(pod(wrong | {"overhead": {"cpu": "x"}})).startswith("quantities must match")


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({}, STRUCT.format("object", "ServicePort.spec.ports.targetPort", "int32")),
        (1.5, STRUCT.format("number 1.5", "ServicePort.spec.ports.targetPort", "int32")),
    ],
)
def test_int_or_string(port: Any, expected: str) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "spec": {"ports": [{"port": 80, "targetPort": port}]},
    }
    assert error(service) == expected
    service["spec"]["ports"][0]["targetPort"] = "http"  # type: ignore[index]
    assert go(service).value["spec"]["ports"][0]["targetPort"] == "http"


@pytest.mark.parametrize(
    ("text", "at"),
    [("YQ=", 3), ("not base64", 3), ("YQ=a", 2), ("YQ==a", 4), ("Y", 0), ("=", 0), ("YWJj=", 4)],
)
def test_bad_base64(text: str, at: int) -> None:
    expected = f"illegal base64 data at input byte {at}"
    assert error({"apiVersion": "v1", "kind": "Secret", "data": {"a": text}}) == expected


def test_types_that_are_a_schema_or_something_else() -> None:
    def crd(props: dict[str, Any]) -> dict[str, Any]:
        versions = [{"schema": {"openAPIV3Schema": {"properties": {"a": props}}}}]
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "spec": {"versions": versions},
        }

    sent = {
        "items": {"type": "string", "foo": 1},
        "additionalProperties": False,
        "enum": [None, 1],
        "default": None,
        "maximum": 5.0,
    }
    result = go(crd(sent))
    assert result.strict == []
    assert result.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"] == {
        "items": {"type": "string"},
        "additionalProperties": False,
        "enum": [None, 1],
        "maximum": 5,
    }
    assert error(crd({"dependencies": {"a": [5]}})).endswith(
        "properties.dependencies of type string"
    )
    assert error(crd({"additionalProperties": 5})) == "boolean or JSON schema expected"
    where = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items"
    assert error(crd({"items": {"type": 5}})) == STRUCT.format("number", f"{where}.type", "string")
    assert error(crd({"items": {"properties": {"b": {"maxLength": "x"}}}})) == STRUCT.format(
        "string", f"{where}.properties.maxLength", "int64"
    )


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"maximum": 10**20}, {"maximum": 1e20}),
        ({"minimum": 2**53 + 1}, {"minimum": 2**53}),
        ({"multipleOf": 2.0}, {"multipleOf": 2}),
        ({"default": 1.0}, {"default": 1}),
        ({"enum": [1e2, {"a": [2.0, 0.5]}]}, {"enum": [100, {"a": [2, 0.5]}]}),
        ({"example": 10**20}, {"example": 10**20}),
    ],
)
def test_numbers_of_schemas_are_written_as_go_does(sent: Any, kept: Any) -> None:
    schema = definition("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    value = decode(schema, sent).value
    assert (value, repr(value)) == (kept, repr(kept))


def test_endless_nesting_is_refused() -> None:
    nested: dict[str, Any] = {}
    for _ in range(50_000):
        nested = {"not": nested}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode(
            definition("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"),
            nested,
        )


def test_a_part_of_an_object_can_be_decoded_alone() -> None:
    meta = definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    assert decode(meta, {"nickname": 1}, path="metadata").strict == [
        'unknown field "metadata.nickname"'
    ]
    with pytest.raises(
        DecodeError,
        match=(
            r"^json: cannot unmarshal number into Go struct field ObjectMeta\.labels of "
            r"type string$"
        ),
    ):
        decode(meta, {"labels": {"a": 1}})
    with pytest.raises(
        DecodeError, match=r"^json: cannot unmarshal string into Go value of type v1\.ObjectMeta$"
    ):
        decode(meta, "x")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**33)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "containers", "ports", "resources", "limits", "volumes", "env", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["containers", "volumes", "nodeSelector", "overhead", "priority", "tolerations"]
        ),
        json_values,
    )
)
def test_decoding_is_idempotent_or_refuses(spec: dict[str, Any]) -> None:
    try:
        once = go(pod(spec)).value
    except DecodeError:
        return
    again = go(once)
    assert again.value == once and again.strict == []
