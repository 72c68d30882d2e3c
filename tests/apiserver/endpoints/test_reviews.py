"""Reviews: who posts one owns its fields, which shows where the answer is what was posted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.storage.interface import Store
from tests.support.api import Api, serving

GROUP = "/apis/authorization.k8s.io/v1"
ASKED = {"verb": "get", "resource": "pods"}


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


def review(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


async def test_a_review_shows_its_manager(api: Api) -> None:
    asked = review("SubjectAccessReview", user="ann", resourceAttributes=ASKED)
    path = f"{GROUP}/subjectaccessreviews"
    answer = await api.ok("POST", f"{path}?fieldManager=me", asked)
    [entry] = answer["metadata"].pop("managedFields")
    assert answer["metadata"] == {}
    assert entry.pop("time")
    assert entry == {
        "manager": "me",
        "operation": "Update",
        "apiVersion": "authorization.k8s.io/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:spec": {
                "f:resourceAttributes": {".": {}, "f:resource": {}, "f:verb": {}},
                "f:user": {},
            }
        },
    }
    by_agent = await api.ok("POST", path, asked)
    assert by_agent["metadata"]["managedFields"][0]["manager"] == "test"


async def test_an_answer_that_is_made_anew_has_none(api: Api) -> None:
    group = "/apis/authentication.k8s.io/v1"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await api.ok("POST", f"{group}/selfsubjectreviews", asked)
    assert "managedFields" not in answer["metadata"]


async def test_other_metadata_is_refused(api: Api) -> None:
    asked = review("SubjectAccessReview", user="ann", resourceAttributes=ASKED)
    status, answer = await api(
        "POST", f"{GROUP}/subjectaccessreviews", {**asked, "metadata": {"labels": {"a": "b"}}}
    )
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "metadata")


async def test_what_only_the_server_sets_does_not_count(api: Api) -> None:
    asked = review("SubjectAccessReview", user="ann", resourceAttributes=ASKED)
    told = {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "namespace": "ns"}
    answer = await api.ok("POST", f"{GROUP}/subjectaccessreviews", {**asked, "metadata": told})
    assert answer["metadata"].keys() == {"managedFields"}


async def test_a_local_review_is_about_the_namespace_that_it_is_sent_to(api: Api) -> None:
    path = f"{GROUP}/namespaces/ns/localsubjectaccessreviews"
    asked = review(
        "LocalSubjectAccessReview", user="ann", resourceAttributes={**ASKED, "namespace": "ns"}
    )
    answer = await api.ok("POST", path, asked)
    assert answer["metadata"]["namespace"] == "ns"
    status, answer = await api("POST", path, {**asked, "metadata": {"namespace": "other"}})
    assert (status, answer["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )
