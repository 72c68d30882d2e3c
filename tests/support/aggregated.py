"""Tests of API servers of a tenant's own: how one comes into use, what it is asked and answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from apiserver.authn.frontproxy import FrontProxy
from apiserver.endpoints.request import Message
from tests.support.api import Api, receive_of
from tests.support.apiservers import (
    NAME,
    PATH,
    Answering,
    ApiServer,
    Asked,
    Handler,
    api_server,
    documents,
)
from tests.support.waiting import PATIENCE

ODD_ENDS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A handshake that a test gave up (a look at a server that was stopped, a client that left) ends
when its loop does, and asyncio then calls its transport unclosed, wherever it is collected."""
SERVICE = f"/apis/apiregistration.k8s.io/v1/apiservices/{NAME}"
THINGS = f"{PATH}/namespaces/ns/things"
FRONT = FrontProxy(b"a secret of this installation")


async def available(api: Api, prefix: str = "", reason: str = "Passed") -> Any:
    """The condition, once it has that reason."""
    async with asyncio.timeout(PATIENCE):
        while True:
            status = (await api.ok("GET", prefix + SERVICE))["status"]
            for condition in status.get("conditions") or ():
                if condition["reason"] == reason:
                    return condition
            await asyncio.sleep(0.02)


@asynccontextmanager
async def using(
    api: Api, handler: Handler = documents, prefix: str = "", authority: bytes = b"", **spec: Any
) -> AsyncIterator[ApiServer]:
    """A server that the tenant uses and that is there."""

    async def both(asked: Asked, answer: Answering) -> None:
        known = asked.target in (PATH, "/apis") or asked.target.startswith("/openapi")
        await (documents if known else handler)(asked, answer)

    async with api_server(both, authority=authority) as server:
        for path, body in server.objects(**spec):
            await api.ok("POST", prefix + path, body)
        await available(api, prefix)
        server.asked.clear()
        yield server


def answering(body: Any, status: int = 200, **headers: str) -> Handler:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.whole(body, status, **headers)

    return handler


def mine(server: ApiServer) -> Asked:
    """The one request that was not this server's own."""
    (asked,) = (a for a in server.asked if a.header("x-remote-user") != "system:kube-aggregator")
    return asked


async def sent_by(api: Api, path: str, **headers: str) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await api._entry(scope_of(path, headers), receive_of(b""), send)
    return sent


def scope_of(path: str, headers: dict[str, str]) -> Message:
    path, _, query = path.partition("?")
    raw = [(k.encode(), v.encode()) for k, v in headers.items()]
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": raw,
    }


async def until(ask: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not holds(answer := await ask()):  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.02)
    return answer
