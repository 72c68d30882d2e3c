"""Discovery of custom resources (k8s.io/apiextensions-apiserver
``apiserver/customresource_discovery_controller.go``)."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from apiserver.codec import protobuf
from apiserver.endpoints import discovery
from apiserver.kinds import catalog
from apiserver.kinds.apiextensions.custom import CustomResource
from tests.support.definitions import definition, resource_of

BUILTIN = list(catalog.resources().values())


def versioned(group: str, *names: str, storage: str = "", unserved: str = "") -> CustomResource:
    sent = definition(group=group)
    model = sent["spec"]["versions"][0]
    storage = storage or names[0]
    sent["spec"]["versions"] = [
        {**model, "name": n, "served": n != unserved, "storage": n == storage} for n in names
    ]
    return resource_of(sent)


def test_versions_are_ordered_by_maturity_and_number() -> None:
    names = (
        "v1beta1",
        "foo1",
        "v10",
        "v2alpha1",
        "v2",
        "v11alpha2",
        "foo10",
        "v3beta1",
        "v11beta2",
        "v12alpha1",
    )
    made = versioned("a.example.com", *names)
    group = discovery.api_group_list([made])["groups"][0]
    ordered = [
        "v10",
        "v2",
        "v11beta2",
        "v3beta1",
        "v1beta1",
        "v12alpha1",
        "v11alpha2",
        "v2alpha1",
        "foo1",
        "foo10",
    ]
    assert [v["version"] for v in group["versions"]] == ordered
    assert group["preferredVersion"]["version"] == "v10"
    assert [
        v["version"] for v in discovery.aggregated([made], core=False)["items"][0]["versions"]
    ] == ordered


def test_groups_of_definitions_come_after_the_built_in_ones_in_an_order_of_their_own() -> None:
    made = [
        versioned("c.example.com", "v1"),
        versioned("b.example.com", "v2"),
        versioned("a.example.com", "v1beta1"),
    ]
    everything = [*BUILTIN, *made]
    built_in = list(discovery.groups(BUILTIN))
    plain = [g["name"] for g in discovery.api_group_list(everything)["groups"]]
    assert plain == [*built_in, "c.example.com", "a.example.com", "b.example.com"], (
        "by the names of their APIServices"
    )
    aggregated = [
        g["metadata"]["name"] for g in discovery.aggregated(everything, core=False)["items"]
    ]
    assert aggregated == [*built_in, "a.example.com", "b.example.com", "c.example.com"]


def rows(resource: CustomResource, version: str = "v1") -> list[dict[str, Any]]:
    document = discovery.api_resource_list([resource], resource.group, version)
    assert document is not None
    found: list[dict[str, Any]] = document["resources"]
    return found


def test_a_definition_that_is_being_deleted_lets_nothing_be_written() -> None:
    made = versioned("a.example.com", "v1")
    assert {"create", "patch", "update"} <= set(rows(made)[0]["verbs"])
    made.terminating = True
    assert rows(made)[0]["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
    shown = discovery.aggregated([made], core=False)["items"][0]["versions"][0]["resources"][0]
    assert shown["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]


def test_the_hash_of_the_storage_version() -> None:
    made = versioned("a.example.com", "v1", "v2", storage="v2")
    wanted = base64.b64encode(hashlib.sha256(b"a.example.com/v2/Foo").digest()[:8]).decode()
    assert [rows(made, version)[0]["storageVersionHash"] for version in ("v1", "v2")] == [
        wanted,
        wanted,
    ]
    assert (
        "storageVersionHash"
        not in rows(versioned("a.example.com", "v1", "v2", storage="v2", unserved="v2"))[0]
    )


@pytest.mark.parametrize(
    ("group", "version", "name", "hashed"),
    [
        ("", "v1", "pods", "xPOwRZ+Yhw8="),
        ("", "v1", "configmaps", "qFsyl6wFWjQ="),
        ("apps", "v1", "deployments", "8aSe+NMegvE="),
        ("events.k8s.io", "v1", "events", "r2yiGXH7wu8="),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "jfWCUB31mvA="),
        ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies", "LYmCf+UMVdg="),
        ("authentication.k8s.io", "v1", "tokenreviews", None),
        ("", "v1", "pods/log", None),
    ],
)
def test_hashes_of_built_in_resources_are_those_of_every_cluster(
    group: str, version: str, name: str, hashed: str | None
) -> None:
    document = discovery.api_resource_list(BUILTIN, group, version)
    assert document is not None
    row = next(r for r in document["resources"] if r["name"] == name)
    assert row.get("storageVersionHash") == hashed


def test_documents_change_their_tag_with_the_definitions() -> None:
    before = discovery.aggregated(BUILTIN, core=False)
    after = discovery.aggregated([*BUILTIN, versioned("a.example.com", "v1")], core=False)
    assert (
        discovery.etag(before)
        == discovery.etag(discovery.aggregated(BUILTIN, core=False))
        != discovery.etag(after)
    )


def test_the_oldest_group_has_a_list_without_a_version() -> None:
    core = discovery.api_resource_list(BUILTIN, "", "v1")
    assert core is not None
    assert list(core) == ["kind", "groupVersion", "resources"]
    assert protobuf.encode(core).startswith(b"k8s\x00\n\x13\n\x00\x12\x0fAPIResourceList")
    apps = discovery.api_resource_list(BUILTIN, "apps", "v1")
    assert apps is not None
    assert apps["apiVersion"] == "v1"
