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
