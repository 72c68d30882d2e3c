"""Patches of admission webhooks that are none, that do not apply, or that come from a webhook that
may not patch."""

from __future__ import annotations

import pytest

from apiserver.meta.objects import Object
from tests.support.admissionhooks import (
    HOOK,
    MAPS,
    configmap,
    configure,
    encoded,
    entry,
    patched,
    said,
)
from tests.support.api import Api
from tests.support.webhooks import Answer, webhook


def patching(text: str) -> Answer:
    return said(patch=encoded(text), patchType="JSONPatch")


PATCHES: list[tuple[str, Answer, str]] = [
    (
        "undecodable",
        patching("[{"),
        f'failed calling webhook "{HOOK}": received undecodable patch in webhook response: '
        "unexpected end of JSON input",
    ),
    (
        "no list",
        patching("{}"),
        f'failed calling webhook "{HOOK}": received undecodable patch in webhook response: json: '
        "cannot unmarshal object into Go value of type jsonpatch.Patch",
    ),
    (
        "missing path",
        patching('[{"op": "add", "path": "/a/b/c", "value": 1}]'),
        'add operation does not apply: doc is missing path: "/a/b/c": missing value',
    ),
    (
        "missing key",
        patching('[{"op": "remove", "path": "/metadata/none"}]'),
        "error in remove for path: '/metadata/none': Unable to remove nonexistent key: none: "
        "missing value",
    ),
    (
        "test",
        patching('[{"op": "test", "path": "/kind", "value": "Pod"}]'),
        "testing value /kind failed: test failed",
    ),
    (
        "operation",
        patching('[{"op": "change", "path": "/kind", "value": "Pod"}]'),
        "Unexpected kind: change",
    ),
    (
        "patch without type",
        said(patch=encoded("[]")),
        f'failed calling webhook "{HOOK}": received invalid webhook response: webhook returned '
        "response.patch but not response.patchType",
    ),
    (
        "type without patch",
        said(patchType="JSONPatch"),
        f'failed calling webhook "{HOOK}": received invalid webhook response: webhook returned '
        "response.patchType but not response.patch",
    ),
    (
        "another type",
        said(patch=encoded('[{"op": "remove", "path": "/data"}]'), patchType="Merge"),
        f'failed calling webhook "{HOOK}": unsupported patch type "Merge"',
    ),
]


@pytest.mark.parametrize(("reply", "text"), [p[1:] for p in PATCHES], ids=[p[0] for p in PATCHES])
async def test_a_patch_that_is_none(api: Api, reply: Answer, text: str) -> None:
    async with webhook(reply) as hook:
        await configure(api, "mutating", entry(hook.config()))
        status, told = await api("POST", MAPS, configmap("a"))
        assert status == 500 and told["message"] == f"Internal error occurred: {text}"


OTHER_KINDS: list[tuple[Object, str]] = [
    (
        {"op": "replace", "path": "/apiVersion", "value": "v9"},
        'Internal error occurred: no kind "ConfigMap" is registered for version "v9" in scheme '
        '"pkg/api/legacyscheme/scheme.go:30"',
    ),
    (
        {"op": "replace", "path": "/apiVersion", "value": "a/b/c"},
        "Internal error occurred: unexpected GroupVersion string: a/b/c",
    ),
    (
        {"op": "replace", "path": "/kind", "value": "Secret"},
        "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
    ),
]


@pytest.mark.parametrize(("operation", "text"), OTHER_KINDS)
async def test_what_a_patch_makes_another_kind_of_is_not_stored(
    api: Api, operation: Object, text: str
) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, operation)

    async with webhook(changes) as hook:
        await configure(api, "mutating", entry(hook.config(), failurePolicy="Ignore"))
        status, told = await api("POST", MAPS, configmap("a"))
        assert (status, told["message"]) == (500, text)


async def test_what_is_decoded_as_another_kind_has_to_be_one(api: Api) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, {"op": "replace", "path": "/kind", "value": "Secret"})

    async with webhook(changes) as hook:
        await configure(api, "mutating", entry(hook.config()))
        _, told = await api("POST", MAPS, configmap("a", {"k": "."}))
        assert told["message"] == "Internal error occurred: illegal base64 data at input byte 0"


@pytest.mark.parametrize("member", ["kind", "apiVersion"])
async def test_a_kind_that_a_patch_takes_away_stays(api: Api, member: str) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, {"op": "remove", "path": f"/{member}"})

    async with webhook(changes) as hook:
        await configure(api, "mutating", entry(hook.config()))
        made = await api.ok("POST", MAPS, configmap("a"))
        assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")


async def test_an_object_that_a_patch_empties_has_no_name(api: Api) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, {"op": "replace", "path": "", "value": {}})

    await api.ok("POST", MAPS, configmap("a"))
    async with webhook(changes) as hook:
        await configure(api, "mutating", entry(hook.config()))
        _, told = await api.patch(f"{MAPS}/a", {"data": {"k": "v"}})
        assert told["message"].endswith('metadata.name: Invalid value: "": field is immutable]')


async def test_managers_that_a_patch_clears_leave_no_empty_list(api: Api) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, {"op": "add", "path": "/metadata/managedFields", "value": []})

    async with webhook(changes) as hook:
        await configure(api, "mutating", entry(hook.config()))
        made = await api.ok("POST", MAPS, configmap("a"))
        assert "managedFields" not in made["metadata"]


async def test_a_patch_that_does_not_apply_is_never_ignored(api: Api) -> None:
    async with webhook(patching('[{"op": "remove", "path": "/none"}]')) as hook:
        await configure(api, "mutating", entry(hook.config(), failurePolicy="Ignore"))
        assert (await api("POST", MAPS, configmap("a")))[0] == 500


async def test_a_validating_webhook_may_not_patch(api: Api) -> None:
    async def changes(review: Object) -> Object:
        return patched(review, {"op": "add", "path": "/data", "value": {}})

    async with webhook(changes) as hook:
        await configure(api, "validating", entry(hook.config()))
        _, told = await api("POST", MAPS, configmap("a"))
        assert told["message"].endswith("validating webhook may not return response.patch")
