"""Custom objects without a name, and definitions where no definition counts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from apiserver.meta.objects import Object
from apiserver.storage.interface import Store
from tests.apiserver.registry.test_custom_resources import FOOS, causes, define, foo
from tests.support.api import Api, serving
from tests.support.definitions import definition


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {}}])
async def test_an_object_without_metadata_has_no_name(api: Api, metadata: Object) -> None:
    """As upstream's accessors read it (``metav1.Object`` of unstructured objects): nothing is
    undefined where the member is not there."""
    await define(api, definition(subresources={"status": {}}))
    await api.ok("POST", FOOS, foo())
    nameless = {"apiVersion": "example.com/v1", "kind": "Foo", **metadata}
    status, answer = await api("POST", FOOS, nameless)
    required = "Required value: name or generateName is required"
    assert (status, causes(answer)) == (422, [("FieldValueRequired", "metadata.name", required)])
    of_url = "the name of the object (f based on URL) was undeterminable: name must be provided"
    for path in (f"{FOOS}/f", f"{FOOS}/f/status"):
        status, answer = await api("PUT", path, nameless)
        assert (status, answer["message"]) == (400, of_url)
        for kind, patch in (
            ("merge", {"metadata": None}),
            ("json", [{"op": "remove", "path": "/metadata"}]),
        ):
            status, answer = await api.patch(path, patch, kind)
            assert (status, answer["message"]) == (400, of_url)


@pytest.mark.parametrize(
    ("claim", "name", "complaint"),
    [
        ({"apiVersion": "other.com/v1"}, "Foo.other.com", "must be example.com/v1"),
        ({"apiVersion": "v7"}, "Foo", "must be example.com/v1"),
        ({"kind": "Bar"}, "Bar.example.com", "must be Foo"),
    ],
)
async def test_what_a_patch_makes_another_kind_keeps_its_fields_and_is_refused(
    api: Api, claim: Object, name: str, complaint: str
) -> None:
    await define(api, definition({"type": "object", "properties": {"a": {"type": "string"}}}))
    await api.ok("POST", FOOS, foo(a="x"))
    status, answer = await api.patch(f"{FOOS}/f", {**claim, "unknown": 1}, "merge")
    assert status == 422
    assert api.warnings == []
    (member,) = claim
    assert answer["message"] == (
        f'{name} "f" is invalid: {member}: Invalid value: "{claim[member]}": {complaint}'
    )


@pytest.mark.parametrize("kind", ["Foo", "Bar"])
@pytest.mark.parametrize("version", [None, ""])
async def test_what_a_patch_takes_the_version_of_is_refused(
    api: Api, kind: str, version: str | None
) -> None:
    await define(api, definition(subresources={"status": {}}))
    await api.ok("POST", FOOS, foo())
    for path in (f"{FOOS}/f", f"{FOOS}/f/status"):
        status, answer = await api.patch(path, {"apiVersion": version, "kind": kind})
        assert (status, answer["message"]) == (
            500,
            "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion "
            "field'",
        )


async def test_an_api_version_that_is_none_does_not_decode(api: Api) -> None:
    await define(api, definition())
    await api.ok("POST", FOOS, foo())
    status, answer = await api.patch(f"{FOOS}/f", {"apiVersion": "a/b/c"}, "merge")
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["message"].endswith(": unexpected GroupVersion string: a/b/c")


@pytest.mark.parametrize(("version", "served"), [("v1", False), ("v9", True)])
async def test_a_definition_adds_nothing_to_a_version_of_kubernetes_own(
    api: Api, version: str, served: bool
) -> None:
    """kube-apiserver answers for all of such a version itself (kubernetes ``test/integration/
    controlplane``, ``TestCRDShadowGroup``)."""
    crd = definition(group="networking.k8s.io", name=version)
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    await define(api, crd)
    path = f"/apis/networking.k8s.io/{version}"
    status, _ = await api("GET", f"{path}/namespaces/ns/foos")
    assert status == (200 if served else 404)
    body = {"apiVersion": f"networking.k8s.io/{version}", "kind": "Foo", "metadata": {"name": "f"}}
    status, _ = await api("POST", f"{path}/namespaces/ns/foos", body)
    assert status == (201 if served else 404)
    found = await api.ok("GET", path)
    names = {r["name"] for r in found["resources"]}
    assert ("foos" in names) is served
    assert ("networkpolicies" in names) is not served
