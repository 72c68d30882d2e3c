"""An API server of a tenant's own, for tests: HTTPS on the event loop of the test, which answers as
it is told and keeps what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import h11
import orjson
from cryptography import x509

from tests.support.webhooks import bundle, serving_context

GROUP = "things.example.com"
NAME = f"v1.{GROUP}"
PATH = f"/apis/{GROUP}/v1"
LIST = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/v1",
    "resources": [
        {
            "name": "things",
            "singularName": "thing",
            "namespaced": True,
            "kind": "Thing",
            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
            "shortNames": ["th"],
        },
        {
            "name": "things/status",
            "singularName": "",
            "namespaced": True,
            "kind": "Thing",
            "verbs": ["get", "patch"],
        },
    ],
}


@dataclass
class Asked:
    """One request. headers: by lower-case name, all values; client: whom its certificate is for."""

    method: str
    target: str
    headers: dict[str, list[str]]
    client: str
    body: bytes = b""

    def header(self, name: str) -> str:
        (value,) = self.headers.get(name, [""])
        return value


class Answering:
    """The answer to one request."""

    def __init__(self, http: h11.Connection, writer: asyncio.StreamWriter) -> None:
        self._http, self._writer = http, writer

    async def start(self, status: int = 200, **headers: str) -> None:
        pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
        await self._send(h11.Response(status_code=status, headers=pairs))

    async def send(self, data: bytes) -> None:
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        await self._send(h11.EndOfMessage())

    async def whole(self, body: Any, status: int = 200, **headers: str) -> None:
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        kind = {"content_type": "application/json", "content_length": str(len(data))}
        await self.start(status, **{**kind, **headers})
        await self.send(data)
        await self.end()

    def raw(self, data: bytes) -> None:
        """As it stands on the wire."""
        self._writer.write(data)

    def hang_up(self) -> None:
        self._writer.transport.abort()

    async def _send(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()


Handler = Callable[[Asked, Answering], Awaitable[None]]
Switching = Callable[[Asked, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def documents(asked: Asked, answer: Answering) -> None:
    """What every API server answers: its documents, and 404."""
    if asked.target == PATH:
        await answer.whole(LIST)
    elif asked.target == "/openapi/v3":
        url = f"/openapi/v3{PATH}?hash=ABC"
        await answer.whole({"paths": {PATH[1:]: {"serverRelativeURL": url}}})
    elif asked.target.startswith(f"/openapi/v3{PATH}"):
        await answer.whole({"openapi": "3.0.0", "info": {"title": "theirs", "version": "1"}})
    else:
        await answer.whole(b"404 page not found\n", 404, content_type="text/plain")


@dataclass
class ApiServer:
    """asked: what came, in order; gone: how many connections have ended; switching: what becomes of
    a connection whose client asks to upgrade."""

    handler: Handler
    port: int = 0
    switching: Switching | None = None
    asked: list[Asked] = field(default_factory=list)
    gone: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http, asked = h11.Connection(h11.SERVER), None
        tls = writer.get_extra_info("ssl_object")
        der = tls.getpeercert(binary_form=True)
        try:
            while True:
                event = http.next_event()
                if event is h11.NEED_DATA:
                    data = await reader.read(65536)
                    if not data:
                        return
                    http.receive_data(data)
                elif isinstance(event, h11.Request):
                    asked = Asked(
                        event.method.decode(), event.target.decode(), {}, _common_name(der)
                    )
                    for name, value in event.headers:
                        asked.headers.setdefault(name.decode(), []).append(value.decode())
                elif isinstance(event, h11.Data):
                    assert asked is not None
                    asked.body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    assert asked is not None
                    self.asked.append(asked)
                    if self.switching is not None and "upgrade" in asked.headers:
                        await self.switching(asked, reader, writer)
                        return
                    answering = asyncio.create_task(self.handler(asked, Answering(http, writer)))
                    leaving = asyncio.create_task(reader.read(1))
                    await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
                    for task in (answering, leaving):
                        task.cancel()
                    await asyncio.gather(answering, leaving, return_exceptions=True)
                    return
        except (ConnectionError, h11.RemoteProtocolError):
            pass
        finally:
            self.gone += 1
            writer.close()

    def objects(self, namespace: str = "ns", **spec: Any) -> list[tuple[str, Any]]:
        """(path, body) of what makes a tenant use this server."""
        service = {
            "metadata": {"name": "theirs", "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        return [
            (f"/api/v1/namespaces/{namespace}/services", service),
            ("/apis/apiregistration.k8s.io/v1/apiservices", self.api_service(namespace, **spec)),
        ]

    def api_service(self, namespace: str = "ns", **spec: Any) -> Any:
        return {
            "metadata": {"name": NAME},
            "spec": {
                "group": GROUP,
                "version": "v1",
                "groupPriorityMinimum": 100,
                "versionPriority": 10,
                "caBundle": bundle(),
                "service": {"namespace": namespace, "name": "theirs", "port": self.port},
                **spec,
            },
        }


def _common_name(der: bytes | None) -> str:
    if der is None:
        return ""
    (attribute,) = x509.load_der_x509_certificate(der).subject
    return str(attribute.value)


@asynccontextmanager
async def api_server(
    handler: Handler = documents, *, name: str = "theirs.ns.svc", authority: bytes = b""
) -> AsyncIterator[ApiServer]:
    """``authority``: PEM, whose clients alone are let in."""
    made = ApiServer(handler)
    context = serving_context(name)
    if authority:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=authority.decode())
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        if not server.is_serving():
            writer.transport.abort()
        try:
            await made.serve(reader, writer)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tuple(tasks), return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):  # handshakes under way; 3.12's wait_closed() waits
                while getattr(server, "_active_count", 0):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
