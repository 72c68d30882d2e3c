"""WebSockets that are not opened: what their clients are told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from apiserver.storage.interface import Store
from tests.support.api import Api, serving

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def refusal(api: Api, path: str) -> tuple[int, str]:
    """By a server that can answer in the place of a socket."""
    start, *parts = await api.socket(path, websocket_http_response={})
    assert start["type"] == "websocket.http.response.start"
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"application/json" and b"content-length" not in headers
    body = orjson.loads(b"".join(part["body"] for part in parts))
    assert body["code"] == start["status"]
    return start["status"], body["message"]


@pytest.mark.parametrize("stream", ["exec?command=ls", "attach", "portforward?ports=80"])
async def test_a_stream_says_why_it_is_not_to_be_had(api: Api, stream: str) -> None:
    assert await refusal(api, f"{PODS}/absent/{stream}") == (404, 'pods "absent" not found')
    pod: dict[str, Any] = {"metadata": {"name": "p"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    await api.ok("POST", PODS, pod)
    assert await refusal(api, f"{PODS}/p/{stream}") == (
        400,
        "pod p does not have a host assigned",
    )


async def test_whatever_else_goes_wrong_is_a_status_too(api: Api) -> None:
    assert (await refusal(api, f"{PODS}?watch=1&resourceVersion=x"))[0] == 500
    status, message = await refusal(api, PODS)
    assert (status, message.partition(":")[0]) == (400, "a WebSocket carries a watch")
    unknown = "the server could not find the requested resource"
    assert await refusal(api, "/api/v1/nopes?watch=1") == (404, unknown)


async def test_a_server_that_cannot_answer_closes_the_socket(api: Api) -> None:
    assert await api.socket(f"{PODS}/absent/exec") == [
        {"type": "websocket.close", "code": 4404, "reason": 'pods "absent" not found'}
    ]
