"""OpenAPI documents: whole in themselves, and what kubectl relies on."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from apiserver.codec import openapi_pb
from apiserver.endpoints.openapi import custom, documents
from apiserver.endpoints.openapi.definitions import references, v3
from apiserver.endpoints.openapi.operations import definition_name, identifier, tag_of
from apiserver.kinds import catalog
from apiserver.kinds.apiextensions.custom import CustomKind, CustomResource, Version
from apiserver.kinds.served import Resource, ServedVersion, Subresource
from apiserver.meta.gvk import GroupVersionKind
from apiserver.registry.offload import Asker
from apiserver.registry.scope import Tenant
from apiserver.schema.definitions import load_data
from apiserver.schema.types import Rule, Schema

BUILTIN = list(catalog.resources().values())
METHODS = {"get", "put", "post", "delete", "options", "head", "patch"}


def foo(**members: Schema) -> Resource:
    spec = Schema(
        type="object",
        properties={"spec": Schema(type="object", properties=members)},
        required=("spec",),
    )
    scale = Subresource(
        "scale", GroupVersionKind("autoscaling", "v1", "Scale"), ("get", "patch", "update")
    )
    verbs = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    served = ServedVersion("v1", spec, verbs, {"scale": scale})
    version = Version(cast(Any, SimpleNamespace(schema=spec)), False, None, (), {})
    return CustomResource(
        "a.example.com",
        "foos",
        "Foo",
        "FooList",
        "foo",
        True,
        {"v1": served},
        "v1",
        CustomKind("a.example.com", "Foo", "foos", {"v1": version}),
    )


@pytest.fixture(scope="module")
def swagger() -> Any:
    return orjson.loads(documents.build_v2(BUILTIN, "v1.36").body)


def operations(document: Any) -> list[tuple[str, str, Any]]:
    return [
        (p, m, o) for p, item in document["paths"].items() for m, o in item.items() if m in METHODS
    ]


def test_v2_refers_to_nothing_that_it_lacks(swagger: Any) -> None:
    wanted = (
        set(references(swagger["paths"]))
        | set(references(swagger["definitions"]))
        | set(references(swagger["parameters"]))
    )
    assert wanted <= set(swagger["definitions"]) | set(swagger["parameters"])


def test_operation_ids_are_unique(swagger: Any) -> None:
    ids = [o["operationId"] for _, _, o in operations(swagger)]
    assert len(ids) == len(set(ids)) > 800


def test_path_parameters_are_declared(swagger: Any) -> None:
    shared = swagger["parameters"]
    assert any("{" in path and METHODS & set(item) for path, item in swagger["paths"].items())
    for path, item in swagger["paths"].items():
        names = {word[1:-1] for word in path.split("/") if word.startswith("{")}
        for method in METHODS & set(item):
            listed = [*item.get("parameters", []), *item[method].get("parameters", [])]
            nodes = [shared[p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p for p in listed]
            assert {n["name"] for n in nodes if n["in"] == "path"} == names, (path, method)
            keys = [(n["name"], n["in"]) for n in nodes]
            assert len(keys) == len(set(keys)), (path, method)


def test_v2_has_no_defaults_but_members_of_that_name(swagger: Any) -> None:
    assert (
        "default"
        not in swagger["definitions"]["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]
    )
    json_schema = swagger["definitions"][
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    ]
    assert "default" in json_schema["properties"]


@pytest.mark.parametrize(
    ("path", "method", "id", "action"),
    [
        (
            "/api/v1/namespaces/{namespace}/pods/{name}/exec",
            "post",
            "connectCoreV1PostNamespacedPodExec",
            "connect",
        ),
        ("/api/v1/nodes", "delete", "deleteCoreV1CollectionNode", "deletecollection"),
        ("/apis/apps/v1/deployments", "get", "listAppsV1DeploymentForAllNamespaces", "list"),
        (
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
            "get",
            "readAppsV1NamespacedDeploymentScale",
            "get",
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}",
            "put",
            "replaceRbacAuthorizationV1ClusterRole",
            "put",
        ),
        (
            "/api/v1/watch/namespaces/{namespace}/pods",
            "get",
            "watchCoreV1NamespacedPodList",
            "watchlist",
        ),
    ],
)
def test_names_of_operations(swagger: Any, path: str, method: str, id: str, action: str) -> None:
    operation = swagger["paths"][path][method]
    assert (operation["operationId"], operation["x-kubernetes-action"]) == (id, action)


def test_scale_is_of_its_own_kind(swagger: Any) -> None:
    operation = swagger["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"][
        "patch"
    ]
    assert operation["x-kubernetes-group-version-kind"] == {
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
    }


def test_v2_in_protobuf_is_much_the_same_size(swagger: Any) -> None:
    assert len(openapi_pb.encode_document(swagger)) > 1_000_000


@pytest.mark.parametrize("entry", documents.entries(BUILTIN))
def test_v3_refers_to_nothing_that_it_lacks(entry: str) -> None:
    document = orjson.loads(
        documents.build_v3(documents.members(BUILTIN, entry), entry, "v1.36").body
    )
    schemas = set(document["components"]["schemas"])
    assert set(references(document)) == schemas or set(references(document)) <= schemas
    assert document["openapi"] == "3.0.0"


def test_v3_tells_zero_values_and_wraps_references() -> None:
    lease, scale = (
        v3("io.k8s.api.coordination.v1.Lease"),
        v3("io.k8s.api.autoscaling.v1.ScaleStatus"),
    )
    assert lease is not None and scale is not None
    assert lease["properties"]["spec"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.api.coordination.v1.LeaseSpec"}
    ]
    assert lease["properties"]["spec"]["default"] == {}
    assert (
        scale["properties"]["replicas"]["default"] == 0
        and "default" not in scale["properties"]["selector"]
    )
    renew = v3("io.k8s.api.coordination.v1.LeaseSpec")
    assert renew is not None and "default" not in renew["properties"]["renewTime"]


def test_streams_logs_and_proxies_tell_their_options(swagger: Any) -> None:
    """Which kubernetes-validate has no definitions of."""
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"
    shown = {
        path: {
            (p if "name" in p else swagger["parameters"][p["$ref"].rsplit("/", 1)[1]])["name"]
            for p in swagger["paths"][path]["parameters"]
        }
        - {"name", "namespace"}
        for path in (f"{pod}/log", f"{pod}/exec", f"{pod}/attach", f"{pod}/portforward")
    }
    assert shown[f"{pod}/exec"] == {"command", "container", "stderr", "stdin", "stdout", "tty"}
    assert shown[f"{pod}/attach"] == shown[f"{pod}/exec"] - {"command"}
    assert shown[f"{pod}/portforward"] == {"ports"}
    assert {"container", "follow", "previous", "tailLines", "pretty"} < shown[f"{pod}/log"]
    assert {"$ref": "#/parameters/path-rFDtV0x9"} in (
        swagger["paths"]["/api/v1/nodes/{name}/proxy/{path}"]["parameters"]
    )
    assert "application/cbor" in swagger["paths"]["/apis/apps/v1/"]["get"]["produces"]
    assert "application/cbor" not in swagger["paths"]["/apis/apps/"]["get"]["produces"]


def test_v3_has_no_defaults_of_items_and_values() -> None:
    capabilities, status = (
        v3("io.k8s.api.core.v1.Capabilities"),
        v3("io.k8s.api.core.v1.ComponentStatus"),
    )
    assert capabilities is not None and status is not None
    assert capabilities["properties"]["add"]["items"] == {"type": "string"}
    assert status["properties"]["conditions"]["items"] == {
        "$ref": "#/components/schemas/io.k8s.api.core.v1.ComponentCondition"
    }
    driver = v3("io.k8s.api.core.v1.CSIVolumeSource")
    assert driver is not None
    assert driver["properties"]["volumeAttributes"]["additionalProperties"] == {"type": "string"}


def test_v3_tells_defaults_that_go_types_state_though_they_are_zero() -> None:
    """As the merge types of client-go have them, which kube-apiserver's document is the source
    of."""
    stated = {
        ("core.v1.LocalObjectReference", "name"): "",
        ("core.v1.AzureDiskVolumeSource", "readOnly"): False,
    }
    stated |= {
        ("core.v1.ReplicationControllerSpec", "minReadySeconds"): 0,
        ("autoscaling.v1.ScaleSpec", "replicas"): 0,
    }
    for (owner, member), value in stated.items():
        found = v3(f"io.k8s.api.{owner}")
        assert found is not None and found["properties"][member]["default"] == value


def test_patch_says_what_kubectl_asks_for() -> None:
    """kubectl looks for fieldValidation and dryRun at the PATCH of a kind before it sends them."""
    document = orjson.loads(
        documents.build_v3(documents.members(BUILTIN, "apis/apps/v1"), "apis/apps/v1", "v").body
    )
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert {"dryRun", "fieldValidation", "fieldManager", "force"} <= {
        p["name"] for p in patch["parameters"]
    }
    assert "application/apply-patch+yaml" in patch["requestBody"]["content"]


def test_revisions_are_read_with_options_of_their_own() -> None:
    entry = "apis/history.polyplane.dev/v1"
    document = orjson.loads(documents.build_v3(documents.members(BUILTIN, entry), entry, "v").body)

    def asked(path: str) -> set[str]:
        found = document["paths"][f"/{entry}/{path}"]
        told = [*found.get("parameters", ()), *found["get"].get("parameters", ())]
        return {p["name"] for p in told if p["in"] == "query"}

    for root in "clusterrevisions/{name}", "namespaces/{namespace}/revisions/{name}":
        assert asked(root) == {"apiVersion", "pretty"}
        assert asked(f"{root}/blame") == {"apiVersion", "pretty"}
        assert asked(f"{root}/diff") == {"apiVersion", "from", "pretty"}
    assert asked("retainedlogs/{name}") == {"pretty"}


def test_custom_kind_in_both_versions() -> None:
    resource = foo(
        port=Schema(int_or_string=True),
        size=Schema(type="integer", minimum=1, rules=(Rule("self > 0", message="positive"),)),
        any=Schema(type="object", preserve_unknown=True, properties={"x": Schema(type="string")}),
        gone=Schema(type="string", nullable=True),
    )
    served = resource.versions["v1"]
    new = custom.definitions(resource, served, v2=False)
    spec = new["com.example.a.v1.Foo"]["properties"]["spec"]["properties"]
    assert spec["port"] == {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    }
    assert spec["size"]["x-kubernetes-validations"] == [{"rule": "self > 0", "message": "positive"}]
    old = custom.definitions(resource, served, v2=True)["com.example.a.v1.Foo"]["properties"][
        "spec"
    ]["properties"]
    assert (
        old["any"] == {"x-kubernetes-preserve-unknown-fields": True}
        and old["gone"] == {}
        and "anyOf" not in old["port"]
    )
    assert new["com.example.a.v1.FooList"]["required"] == ["items"]


def test_custom_group_has_a_document_of_its_own() -> None:
    resource = foo(size=Schema(type="integer"))
    everything = [*BUILTIN, resource]
    entry = "apis/a.example.com/v1"
    assert entry in documents.entries(everything) and "apis/a.example.com" not in documents.entries(
        everything
    )
    document = orjson.loads(
        documents.build_v3(documents.members(everything, entry), entry, "v").body
    )
    assert document["info"]["title"] == "Kubernetes CRD Swagger"
    assert set(references(document)) <= set(document["components"]["schemas"])
    foos = "/apis/a.example.com/v1/namespaces/{namespace}/foos"
    one, scale = document["paths"][foos + "/{name}"], document["paths"][foos + "/{name}/scale"]
    assert scale["get"]["operationId"] == "readAExampleComV1NamespacedFooScale"
    assert [p["name"] for p in one["get"]["parameters"]] == ["resourceVersion"]
    assert (list(one["patch"]["responses"]), list(one["put"]["responses"])) == (
        ["200", "401"],
        ["200", "201", "401"],
    )
    collection = document["paths"][foos]
    assert collection["delete"]["parameters"] == collection["get"]["parameters"]
    swagger = orjson.loads(documents.build_v2(everything, "v").body)
    assert "com.example.a.v1.Foo" in swagger["definitions"]
    assert (
        "com.example.a.v1.Foo"
        not in orjson.loads(documents.build_v2(BUILTIN, "v").body)["definitions"]
    )


def test_documents_are_made_once_and_follow_the_resources() -> None:
    async def scenario() -> None:
        made, asker = documents.Documents("v"), Asker(Tenant(1, "t"))
        first, second = await asyncio.gather(
            made.v3(asker, BUILTIN, "version"), made.v3(asker, BUILTIN, "version")
        )
        assert first is second
        before = await made.index(asker, BUILTIN, "", {})
        after = await made.index(asker, [*BUILTIN, foo()], "", {})
        assert before.tag != after.tag
        changed = await made.v3(asker, [foo(a=Schema(type="string"))], "apis/a.example.com/v1")
        assert changed.tag != (await made.v3(asker, [foo()], "apis/a.example.com/v1")).tag

    asyncio.run(scenario())


def test_words() -> None:
    assert identifier("flowcontrol.apiserver", capital=True) == "FlowcontrolApiserver"
    assert (
        tag_of("rbac.authorization.k8s.io", "v1") == "rbacAuthorization_v1"
        and tag_of("", "v1") == "core_v1"
    )
    assert (
        definition_name(GroupVersionKind("apps", "v1", "Deployment"))
        == "io.k8s.api.apps.v1.Deployment"
    )


CORE = "io.k8s.api.core.v1."


def test_enumerations_are_told_in_both_versions(swagger: Any) -> None:
    protocol = ["SCTP", "TCP", "UDP"]
    assert (
        swagger["definitions"][CORE + "ContainerPort"]["properties"]["protocol"]["enum"] == protocol
    )
    schema = v3(CORE + "ContainerPort")
    assert schema is not None
    assert schema["properties"]["protocol"] | {"description": ""} == {
        "type": "string",
        "description": "",
        "default": "TCP",
        "enum": protocol,
    }


def test_enumerated_items_and_values_carry_their_enumeration(swagger: Any) -> None:
    claim = swagger["definitions"][CORE + "PersistentVolumeClaimStatus"]["properties"]
    assert claim["accessModes"]["items"]["enum"] == [
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOnce",
        "ReadWriteOncePod",
    ]
    assert (
        "ControllerResizeInProgress"
        in claim["allocatedResourceStatuses"]["additionalProperties"]["enum"]
    )
    assert "enum" not in claim["accessModes"]
    port = swagger["definitions"][CORE + "ContainerPort"]["properties"]["protocol"]
    listed = "Possible enum values:"
    assert listed in port["description"]
    for member in ("accessModes", "allocatedResourceStatuses"):
        assert listed not in claim[member]["description"]  # kubectl shows none of items


def test_what_documents_list_is_what_types_have(swagger: Any) -> None:
    known = load_data("openapi-enums.json")
    found = {name: v3(name) for name in known}
    assert found and all(
        schema is not None and set(known[name]) <= set(schema["properties"])
        for name, schema in found.items()
    )
