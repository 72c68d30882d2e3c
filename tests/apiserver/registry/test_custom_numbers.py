"""Formats of numbers in custom resources: what a definition says of them holds for what changes,
and not for what was stored before it said so (CRDValidationRatcheting)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.storage.interface import Store
from tests.apiserver.registry.test_custom_resources import FOOS, causes, define, foo
from tests.support.api import Api, serving
from tests.support.definitions import definition


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


def numbers(**format_: str) -> Any:
    number = {"type": "integer", **format_}
    members = {"n": number, "list": {"type": "array", "items": number}, "s": {"type": "string"}}
    return definition(
        schema={"type": "object", "properties": {"spec": {"type": "object", "properties": members}}}
    )


@pytest.mark.parametrize(("fits", "large"), [(2**31 - 1, 2**31), (-(2**31), -(2**31) - 1)])
async def test_a_format_holds_for_what_changes(api: Api, fits: int, large: int) -> None:
    await define(api, numbers())
    old = await api.ok("POST", FOOS, foo(spec={"n": large, "list": [large], "s": "a"}))
    await define(api, numbers(format="int32"))
    status, refused = await api("POST", FOOS, foo("new", spec={"n": large}))
    assert status == 422
    ((_, _, message),) = causes(refused)
    assert message.endswith("Checked value must be of type integer with format int32 in spec.n")
    assert (await api.ok("POST", FOOS, foo("fits", spec={"n": fits})))["spec"] == {"n": fits}

    old["spec"]["s"] = "b"
    kept = await api.ok("PUT", f"{FOOS}/f", old)
    assert kept["spec"] == {"n": large, "list": [large], "s": "b"}
    larger = large + (1 if large > 0 else -1)
    for changed in ({"n": larger}, {"list": [larger]}):
        status, refused = await api("PUT", f"{FOOS}/f", {**kept, "spec": kept["spec"] | changed})
        assert status == 422, refused
    assert (await api.patch(f"{FOOS}/f", {"spec": {"n": fits}}))[0] == 200
    status, _ = await api.patch(f"{FOOS}/f", {"spec": {"n": large}})
    assert status == 422, "what was mended stays so"
