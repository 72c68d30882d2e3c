from __future__ import annotations

import json
from pathlib import Path

import pytest

from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import (
    definition,
    has_go_type,
    kinds,
    raw_definitions,
    schema_for,
)

CORE = "io.k8s.api.core.v1."


def test_markers_go_names_and_defaults_of_a_list() -> None:
    containers = definition(f"{CORE}PodSpec").properties["containers"]  # type: ignore[index]
    assert (containers.list_type, containers.map_keys, containers.patch_merge_key) == (
        "map",
        ("name",),
        "name",
    )
    assert containers.patch_strategy == {"merge"}
    assert containers.go_type == "[]v1.Container"
    ports = containers.items.properties["ports"]  # type: ignore[union-attr, index]
    assert ports.map_keys == ("containerPort", "protocol")
    assert ports.items.properties["protocol"].default == "TCP"
    assert ports.items.properties["protocol"].go_type == "v1.Protocol"
    assert ports.items.required == ("containerPort",)
    request = definition("io.k8s.api.certificates.v1.CertificateSigningRequestSpec")
    extra = request.properties["extra"]  # type: ignore[index]
    assert extra.additional is not None
    assert (extra.go_type, extra.additional.go_type, extra.additional.items.go_type) == (  # type: ignore[union-attr]
        "map[string]v1.ExtraValue",
        "v1.ExtraValue",
        "string",
    )


def test_markers_beside_a_reference_win() -> None:
    strategy = definition("io.k8s.api.apps.v1.DeploymentSpec").properties["strategy"]  # type: ignore[index]
    assert strategy.patch_strategy == {"retainKeys"}
    assert definition("io.k8s.api.apps.v1.DeploymentStrategy").patch_strategy == frozenset()
    assert definition("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector").map_type == "atomic"


@pytest.mark.parametrize(
    ("name", "member", "special"),
    [
        (f"{CORE}Secret", "data", "bytes"),
        (f"{CORE}ServicePort", "targetPort", "int-or-string"),
        (f"{CORE}ResourceFieldSelector", "divisor", "quantity"),
        ("io.k8s.api.coordination.v1.LeaseSpec", "renewTime", "microtime"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp", "time"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", "fieldsV1", "fields-v1"),
        ("io.k8s.api.apps.v1.ControllerRevision", "data", "raw-extension"),
        (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
            "default",
            "json",
        ),
    ],
)
def test_special_types(name: str, member: str, special: str) -> None:
    node = definition(name).properties[member]  # type: ignore[index]
    assert (node.additional or node).special == special


def test_definitions_refer_to_themselves() -> None:
    props = definition(
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    ).properties
    assert props is not None
    below = props["not"].properties
    assert below is props


def test_every_member_has_a_go_type() -> None:
    missing = [
        (n, m)
        for n in raw_definitions()
        for m, s in (definition(n).properties or {}).items()
        if not s.go_type
    ]
    assert missing == []


def test_raw_definitions_are_open_api_again() -> None:
    raw = raw_definitions()
    text = json.dumps([raw[name] for name in raw])
    assert "$defs" not in text and '"null"' not in text
    secret = raw[f"{CORE}Secret"]
    assert secret["type"] == "object" and "enum" not in secret["properties"]["kind"]
    assert (
        secret["properties"]["metadata"]["$ref"]
        == "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    )
    assert raw[f"{CORE}ContainerPort"]["properties"]["protocol"]["default"] == "TCP"


def test_kinds_of_every_group() -> None:
    for gvk in [
        ("apps", "v1", "DeleteOptions"),
        ("", "v1", "Status"),
        ("autoscaling", "v1", "Scale"),
        ("policy", "v1", "Eviction"),
        ("meta.k8s.io", "v1", "CreateOptions"),
        ("batch", "v1", "PatchOptions"),
        ("storage.k8s.io", "v1", "WatchEvent"),
        ("authentication.k8s.io", "v1", "TokenRequest"),
        ("meta.k8s.io", "v1", "PartialObjectMetadata"),
    ]:
        assert schema_for(GroupVersionKind(*gvk)).is_struct()
    with pytest.raises(KeyError):
        schema_for(GroupVersionKind("apps", "v1", "Pod"))


@pytest.mark.shared
def test_every_served_resource_has_a_schema(shared: Path) -> None:
    resources = json.loads((shared / "facts" / "resources.json").read_text())
    served = {GroupVersionKind(r["group"], r["version"], r["kind"]) for r in resources}
    assert served <= set(kinds())


def test_a_definition_is_made_once() -> None:
    """Recursive types would have no end otherwise, and each use of a definition would cost its
    compilation again."""
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert definition(name) is definition(name)
    assert definition(name).properties["not"].properties is definition(name).properties  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("MutatingAdmissionPolicy", True),  # served
        ("ValidatingAdmissionPolicy", True),  # no longer, in a version that others are served in
        ("ValidatingAdmissionPolicyList", True),
        ("Policy", False),
    ],
)
def test_kinds_that_a_served_version_has_lost_are_known(kind: str, known: bool) -> None:
    """An object of one is of another version than is expected, and not unheard of."""
    group = "admissionregistration.k8s.io"
    assert has_go_type(GroupVersionKind(group, "v1beta1", kind)) is known
