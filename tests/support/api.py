"""The API of one process without a network: requests go into the ASGI entry, everybody is an
administrator, there is one tenant."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote

import orjson

from admission.chain import Chain
from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.client import WebhookClient
from apiserver.authz.attributes import Decision
from apiserver.endpoints.entry import Entry
from apiserver.endpoints.filters.authentication import identify
from apiserver.endpoints.request import Message
from apiserver.endpoints.server import Server
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Store
from apiserver.watch.watches import Watches
from controlplane.wiring import index_with, managers
from tests.support.waiting import PATIENCE

TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Watch:
    """The events of a watch that runs."""

    def __init__(self, sent: asyncio.Queue[Message], task: asyncio.Task[None]) -> None:
        self._sent, self._task, self._rest = sent, task, b""

    async def begun(self) -> None:
        """What is written from now on is seen by it. To be awaited first, or not at all."""
        async with asyncio.timeout(PATIENCE):
            assert (await self._sent.get())["status"] == 200

    async def next(self) -> Object | None:
        """None at the end of the stream."""
        async with asyncio.timeout(PATIENCE):
            while b"\n" not in self._rest:
                message = await self._sent.get()
                if message["type"] == "http.response.start":
                    assert message["status"] == 200
                    continue
                self._rest += message["body"]
                if not message.get("more_body") and not self._rest:
                    return None
            line, _, self._rest = self._rest.partition(b"\n")
            found: Object = orjson.loads(line)
            return found

    async def take(self, count: int) -> list[Object]:
        found = [await self.next() for _ in range(count)]
        assert None not in found, found
        return cast(list[Object], found)

    async def stop(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


class Api:
    """registry: of the process; the catalog follows the tenant's definitions; warnings: Warning
    headers of the last answer; headers: all of them, by lower-case names."""

    def __init__(self, server: Server, catalog: TenantCatalog, tenant: Tenant) -> None:
        async def make() -> Server:
            return server

        self.server, self.registry, self.catalog, self.tenant = (
            server,
            server.registry,
            catalog,
            tenant,
        )
        self.warnings: list[str] = []
        self.headers: dict[str, str] = {}
        self._entry = Entry(make, cast(Any, None), cast(Any, None))

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        type: str = "application/json",
        **headers: str,
    ) -> tuple[int, Any]:
        """(status, decoded body); bytes where it is no JSON."""
        status, data = await self.raw(method, path, _body(body), type, **headers)
        return status, orjson.loads(data) if data[:1] == b"{" else data

    async def raw(
        self, method: str, path: str, body: bytes, type: str, **headers: str
    ) -> tuple[int, bytes]:
        """(status, body as it was sent)."""
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        await self._entry(_scope(method, path, type, headers), receive_of(body), send)
        self.headers = {n.decode(): v.decode() for n, v in sent[0].get("headers", ())}
        self.warnings = [
            value.decode()
            for name, value in sent[0].get("headers", ())
            if name.lower() == b"warning"
        ]
        return sent[0]["status"], b"".join(m.get("body", b"") for m in sent[1:])

    async def socket(self, path: str, **extensions: Any) -> list[Message]:
        """What somebody is sent who asks for a WebSocket and does not get one. ``extensions``: of
        ASGI that the server has, dots written as underlines."""
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        known = {name.replace("_", "."): value for name, value in extensions.items()}
        scope = {**_scope("GET", path, "", {}), "type": "websocket", "extensions": known}
        await self._entry(scope, receive_of({"type": "websocket.connect"}), send)
        return sent

    async def leaving(self, method: str, path: str, body: Any, when: asyncio.Event) -> None:
        """A request whose client goes away at a moment."""
        asked: list[Message] = [{"type": "http.request", "body": _body(body)}]

        async def receive() -> Message:
            if asked:
                return asked.pop()
            await when.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            pass

        async with asyncio.timeout(PATIENCE):
            await self._entry(_scope(method, path, "application/json", {}), receive, send)

    async def ok(
        self,
        method: str,
        path: str,
        body: Any = None,
        type: str = "application/json",
        **headers: str,
    ) -> Any:
        status, found = await self(method, path, body, type, **headers)
        assert status < 300, found
        return found

    async def patch(
        self, path: str, body: Any, kind: str = "merge", **query: str
    ) -> tuple[int, Any]:
        asked = "&".join(f"{k}={quote(v)}" for k, v in query.items())
        return await self("PATCH", f"{path}?{asked}", body, TYPES[kind])

    def watch(self, path: str, **headers: str) -> Watch:
        sent: asyncio.Queue[Message] = asyncio.Queue()
        task = asyncio.create_task(
            self._entry(_scope("GET", path, "", headers), receive_of(b""), sent.put)
        )
        return Watch(sent, task)

    async def until(self, holds: Callable[[], Any]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0.005)


def _scope(method: str, path: str, type: str, headers: dict[str, str]) -> Message:
    path, _, query = path.partition("?")
    sent = {
        "user-agent": "test/1",
        **({"content-type": type} if type else {}),
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    encoded = [(k.encode(), v.encode()) for k, v in sent.items()]
    raw = {"path": path, "raw_path": path.encode(), "query_string": query.encode()}
    return {"type": "http", "method": method, **raw, "headers": encoded}


def _body(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b"" if value is None else orjson.dumps(value)


def receive_of(*sent: bytes | Message) -> Any:
    """An ASGI receive of a client that sends these, bodies or messages, and stays for the answer.
    It waits as a server's does: one that answers at once for ever would never let the loop go
    on."""
    messages = [
        {"type": "http.request", "body": part} if isinstance(part, bytes) else part for part in sent
    ]

    async def receive() -> Message:
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()
        raise AssertionError("nobody sets the event")

    return receive


class _Nobody:
    """Follows definitions and does nothing about them: tests establish them
    (tests.support.widgets)."""

    def changed(self, *_: Any) -> None:
        pass

    __call__ = changed


@asynccontextmanager
async def serving(
    store: Store, number: int, *, seconds: float = 30.0, policy: AddressPolicy | None = None
) -> AsyncIterator[Api]:
    """``number``: of the tenant; ``seconds``: what webhooks have."""
    catalog = TenantCatalog()
    index = index_with(catalog)
    watches = Watches(store, index)
    await watches.start()
    client = WebhookClient(policy, seconds)
    registry = Registry(
        store,
        watches,
        Chain([]),
        catalog,
        managers(),
        {},
        lambda message: hashlib.sha256(message).digest(),
        index,
        webhooks=client,
    )
    catalog.follow(watches, cast(Any, _Nobody()))

    async def tenant(name: str) -> Any:
        return SimpleNamespace(
            id=number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def allow(*_: Any) -> Decision:
        return Decision(True)

    async def nothing(*_: Any) -> None:
        return None

    server = Server(
        registry=registry,
        catalog=catalog,
        definitions=cast(Any, None),
        directory=cast(Any, SimpleNamespace(tenant=tenant, token=nothing)),
        authorizer=cast(Any, SimpleNamespace(authorize=allow)),
        seeder=cast(Any, SimpleNamespace(ensure=nothing)),
        git_version="v1",
        started=True,
        identify=identify,
    )
    yield Api(server, catalog, Tenant(number, "default"))
    server.stopping = True
    catalog.stop()
    await watches.stop()
    await client.close()
