"""Webhooks about custom objects and their definitions, as kubernetes' test/e2e/apimachinery/
webhook.go has them."""

from __future__ import annotations

import pytest

from apiserver.meta.objects import Object
from tests.support.admissionhooks import answer, configure, entry, labelling, patched
from tests.support.api import Api
from tests.support.webhooks import webhook
from tests.support.widgets import CRDS, V1, V2, crd, define, redefine, widget


def rule(group: str, resource: str, *operations: str) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": [resource],
        "operations": list(operations),
    }


async def test_create_update_and_delete_of_custom_objects_are_refused(api: Api) -> None:
    async def judging(review: Object) -> Object:
        """Nothing that is, was or would be at host ``bad``."""
        states = (review["request"].get(n) or {} for n in ("object", "oldObject"))
        bad = any(s.get("spec", {}).get("host") == "bad" for s in states)
        return answer(review, allowed=not bad, status={"message": "unwanted data"})

    await define(api, None)
    await api.ok("POST", V1, widget("old", host="bad"))
    async with webhook(judging) as hook:
        rules = [rule("example.com", "widgets", "CREATE", "UPDATE", "DELETE")]
        await configure(api, "validating", entry(hook.config(), rules=rules))
        await api.ok("POST", V1, widget("good", host="h"))
        for status, told in (
            await api("POST", V1, widget("bad", host="bad")),
            await api.patch(f"{V1}/good", {"spec": {"host": "bad"}}),
            await api("DELETE", f"{V1}/old"),
        ):
            assert status == 400 and told["message"].endswith("unwanted data"), told
        refused = [c["request"]["operation"] for c in hook.calls if "bad" in str(c)]
        assert refused == ["CREATE", "UPDATE", "DELETE"]
        mended = await api.patch(f"{V1}/good", {"spec": {"replicas": 2}})
        assert mended[0] == 200
        await api.ok("DELETE", f"{V1}/good")


TAKEN = 'Internal error occurred: Object \'Kind\' is missing in \'{"apiVersion":"example.com/v1",'
NOT_OURS = '/v9, Kind=Widget is unstructured and is not suitable for converting to "example.com/v1"'


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ({"op": "remove", "path": "/kind"}, TAKEN),
        ({"op": "remove", "path": "/apiVersion"}, NOT_OURS.replace("v9", "")),
        ({"op": "replace", "path": "/apiVersion", "value": "v9"}, NOT_OURS),
    ],
)
async def test_what_a_patch_takes_the_type_of_is_not_stored(
    api: Api, operation: Object, text: str
) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, operation)

    await define(api, None)
    async with webhook(changes) as hook:
        rules = [rule("example.com", "widgets", "CREATE")]
        await configure(api, "mutating", entry(hook.config(), rules=rules))
        status, told = await api("POST", V1, widget("a", host="h"))
        assert status == 500 and told["message"].startswith(text), told


async def test_a_definition_can_be_refused(api: Api) -> None:
    async def judging(review: Object) -> Object:
        labels = review["request"]["object"]["metadata"].get("labels") or {}
        said = {"message": "unwanted label"}
        return answer(review, allowed="unwanted" not in labels, status=said)

    async with webhook(judging) as hook:
        rules = [rule("apiextensions.k8s.io", "customresourcedefinitions", "CREATE")]
        await configure(api, "validating", entry(hook.config(), rules=rules))
        body = crd(None)
        body["metadata"]["labels"] = {"unwanted": "yes"}
        status, told = await api("POST", CRDS, body)
        assert status == 400 and told["message"].endswith("denied the request: unwanted label")
        del body["metadata"]["labels"]
        await api.ok("POST", CRDS, body)


async def test_an_object_is_mutated_after_its_kind_is_stored_in_another_version(api: Api) -> None:
    await define(api, None)
    async with webhook(labelling("seen", "yes")) as hook:
        rules = [rule("example.com", "widgets", "CREATE", "UPDATE")]
        await configure(api, "mutating", entry(hook.config(), rules=rules))
        made = await api.ok("POST", V1, widget("a", replicas=1))
        assert made["metadata"]["labels"] == {"seen": "yes"}
        await redefine(api, None, "v2")
        change = {"spec": {"replicas": 2}, "metadata": {"labels": None}}
        for path, version in ((V1, "v1"), (V2, "v2")):
            status, found = await api.patch(f"{path}/a", change)
            assert status == 200, found
            assert found["apiVersion"] == f"example.com/{version}"
            assert (found["spec"]["replicas"], found["metadata"]["labels"]) == (2, {"seen": "yes"})
        assert {c["request"]["object"]["apiVersion"] for c in hook.calls} == {"example.com/v1"}
