"""Numbers that are integers in Go's notation and too large for 64 bits: they are kept as floats,
and printed as Go prints them."""

from __future__ import annotations

from apiserver.meta.objects import Object
from tests.support.api import Api
from tests.support.webhooks import converting, webhook
from tests.support.widgets import V1, V2, define, widget


async def test_of_a_client(api: Api) -> None:
    await define(api, None)
    found = await api.ok("POST", V1, widget("a", replicas=1))
    found["status"] = {"large": 1e20, "least": -1e20, "whole": 3.0}
    assert (await api.ok("PUT", f"{V1}/a/status", found))["status"] == found["status"]
    assert (await api.ok("GET", f"{V1}/a"))["status"] == found["status"]


async def test_of_a_webhook(api: Api) -> None:
    async def growing(review: Object) -> Object:
        answer = await converting(review)
        for obj in answer["response"]["convertedObjects"]:
            obj["status"] = {"large": 1e20}
        return answer

    async with webhook(growing) as hook:
        await define(api, hook.config())
        await api.ok("POST", V1, widget("a", host="h", port=1))
        assert (await api.ok("GET", f"{V2}/a"))["status"] == {"large": 1e20}
        assert (await api.ok("GET", V2))["items"][0]["status"] == {"large": 1e20}
