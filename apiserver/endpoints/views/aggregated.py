"""Requests for a group and version that an API server of the tenant's own serves: sent on to it,
and its answer back, both as streams (k8s.io/kube-aggregator ``apiserver/handler_proxy.go``).

Authentication, limits and authorization have happened here; the other server is told who asks. What
it does with the request takes nobody else's time: a client waits for its own backend alone, for a
minute at most unless it watches, and whoever leaves ends the request behind as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncGenerator
from urllib.parse import unquote

import h11
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.aggregation import headers
from apiserver.aggregation.backends import Backend
from apiserver.aggregation.stream import Broken, Stream
from apiserver.aggregation.transport import Unreachable, Unresolved
from apiserver.endpoints.filters import fairness
from apiserver.endpoints.metrics import long_running
from apiserver.endpoints.outlets import SLICE, Outlet
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.tunnels import opener
from apiserver.endpoints.views import upgraded
from apiserver.endpoints.watchdog import Right
from apiserver.errors import TimedOut
from apiserver.meta.gvk import GroupVersion
from apiserver.registry.offload import ClientGone
from apiserver.registry.scope import Tenant

log = logging.getLogger("polyplane.aggregation")

PATIENCE, DISCOVERY, BEGINNING = 60.0, 5.0, 60.0
"""Seconds that an answer may take, one that says what there is, and the head of one that may go on
for as long as its client likes."""
_DIVIDING = re.compile(r"[/\\\x00-\x1f\x7f]")
_REDIRECTED = "the backend attempted to redirect this request, which is not permitted"


async def backend_of(server: Server, tenant: Tenant, group: str, version: str) -> Backend | None:
    """Whoever serves the group and version, where this server does not."""
    if server.aggregator is None or not group:
        return None
    group_version, backends = GroupVersion(group, version), server.aggregator.backends
    if group_version in backends.local(tenant):
        return None
    backend = (await backends.of(tenant)).get(group_version)
    # where this worker knows of none, another one may do so already
    return backend or (await backends.of(tenant, fresh=True)).get(group_version)


async def forward(
    server: Server, request: ApiRequest, send: Send, backend: Backend
) -> HttpResponseBase | None:
    """None: the answer has been sent. Raises TimedOut, ClientGone."""
    assert server.aggregator is not None, "it has named the backend"
    if not _unambiguous(request.sent_path):
        return not_found()
    if not backend.available:
        return _error("service unavailable\n")
    upgrade = upgraded.upgrade_of(request)
    if upgrade:
        await upgraded.count_as_watch(server, request)
    if request.info.verb == "watch":
        fairness.leave(request)  # its backend counts what it costs
    long, discovery = bool(upgrade) or request.info.lasts, not request.info.is_resource
    exchange = Exchange(server, request, send, backend)
    try:
        patience = BEGINNING if long else DISCOVERY if discovery else PATIENCE
        async with asyncio.timeout(patience) as clock:
            with long_running(request) if long else contextlib.nullcontext():
                return await exchange.run(clock if long else None)
    except Unresolved:
        return _error("service unavailable\n")
    except Unreachable as error:
        return _error(f"error trying to reach service: {error}\n")
    except TimeoutError:
        if exchange.broken_off("its API server took too long"):
            return None
        if discovery:
            return _error("error trying to reach service: context deadline exceeded\n")
        raise TimedOut("request did not complete within the allotted timeout") from None


def _unambiguous(path: str) -> bool:
    """Whether the server behind can but read the path as authorization has: that one has decoded it
    before it split it, and others split first, or clean up. ``path``: as sent."""
    return not any(
        part in (".", "..") or _DIVIDING.search(part) for part in map(unquote, path.split("/"))
    )


class Exchange:
    """One request over one connection."""

    def __init__(self, server: Server, request: ApiRequest, send: Send, backend: Backend) -> None:
        self._server, self._request, self._backend = server, request, backend
        self._outlet: Outlet = server.outlets.open(request.tenant, send, passing=True)
        self._upgrade = upgraded.upgrade_of(request)
        self._started = self._left = False
        self._failure: Exception | None = None
        self._stream: Stream
        self._sending: asyncio.Task[None]

    def close(self, error: Exception) -> None:
        """The request has lost its right, or the server stops; as a watch's."""
        self._stream.abort()

    def broken_off(self, why: str) -> bool:
        """Whether the client has got a part of the answer already; it gets no more."""
        if self._started:
            self._outlet.abort(why)
        return self._started

    async def run(self, clock: asyncio.Timeout | None) -> HttpResponseBase | None:
        """``clock``: of an answer that may go on for ever; stopped when it has begun. Raises
        Unreachable before anything has been sent, ClientGone."""
        request, aggregator = self._request, self._server.aggregator
        assert aggregator is not None, "it has named the backend"
        lookup = self._server.registry.lookup(request.tenant)
        self._stream = await aggregator.transport.open(request.tenant, lookup, self._backend)
        right = Right(request.tenant.name, request.tenant.id, request.secret)
        sending = self._sending = asyncio.create_task(self._send())
        try:
            with self._server.watchdog.guard(right, self), aggregator.exchanging(self):
                return await self._answer(clock)
        except (OSError, Broken) as error:
            if self._left:
                raise ClientGone from None
            if self.broken_off("its API server broke off"):
                return None
            raise Unreachable(str(self._failure or error) or "EOF") from None
        finally:
            sending.cancel()
            self._stream.abort()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send(self) -> None:
        """The request, then whatever the client does: it may only leave. Nobody awaits this, so
        that a failure ends the exchange."""
        try:
            with contextlib.suppress(OSError):  # it may have answered without reading it all
                await self._send_request()
        except Exception as error:
            if not isinstance(error, Broken):
                log.exception("a request for %s", self._backend.name)
            self._failure = error
            self._stream.abort()
            return
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._left = True
        self._stream.abort()

    async def _send_request(self) -> None:
        """Raises OSError, and Broken for a request that HTTP cannot say."""
        request, stream, backend = self._request, self._stream, self._backend
        query: bytes = request.scope.get("query_string") or b""
        path = request.sent_path
        target = path.encode("latin-1") + (b"?" + query if query else b"")
        client = (request.scope.get("client") or ("",))[0]
        sent = headers.onward(
            request.scope["headers"],
            f"{backend.server_name}:{backend.port}",
            request.user,
            client,
            path,
            request.audit_id,
            self._upgrade,
        )
        await stream.begin(request.scope["method"].encode(), target, sent)
        if not self._upgrade:  # which has no body
            async with contextlib.aclosing(self._body()) as parts:
                async for part in parts:
                    await stream.send(part)
        await stream.finish()

    async def _body(self) -> AsyncGenerator[bytes, None]:
        while True:
            message = await self._request.receive()
            if message["type"] == "http.disconnect":
                self._left = True
                self._stream.abort()
                return
            if part := message.get("body", b""):
                yield part
            if not message.get("more_body"):
                return

    async def _answer(self, clock: asyncio.Timeout | None) -> HttpResponseBase | None:
        head = await self._stream.head()
        if clock is not None:
            clock.reschedule(None)
        answered = [(bytes(name), bytes(value)) for name, value in head.headers]
        if head.status_code == 101:
            return await self._switch(answered)
        if 300 <= head.status_code <= 399 and any(name == b"location" for name, _ in answered):
            return _error(_REDIRECTED, 502)
        if head.status_code > 599:  # HTTP knows no such, and proxies before us need not, either
            return _error("the backend answered with an unknown status code\n", 502)
        await self._start(head, answered)
        async with contextlib.aclosing(self._stream.body()) as parts:
            async for part in parts:
                for at in range(0, len(part), SLICE):
                    await self._outlet.send(
                        {
                            "type": "http.response.body",
                            "body": part[at : at + SLICE],
                            "more_body": True,
                        }
                    )
        await self._outlet.send({"type": "http.response.body", "body": b""})
        return None

    async def _switch(self, answered: headers.Pairs) -> HttpResponseBase | None:
        """The other server speaks another protocol from now on. Raises ClientGone."""
        protocols = [value.lower() for name, value in answered if name == b"upgrade"]
        begin = opener(self._request)
        if protocols != [self._upgrade.lower()] or begin is None:
            return _error("the backend switched to another protocol\n", 502)
        self._sending.cancel()  # the tunnel tells when the client leaves
        audit = (b"audit-id", self._request.audit_id.encode("latin-1"))
        tunnel = begin([audit, *headers.switched(answered)])
        self._request.streamed_code = 101
        self._started = True
        self._outlet = self._server.outlets.open(self._request.tenant, tunnel.send, passing=True)
        await upgraded.relay(tunnel, self._outlet, self._stream)
        return None

    async def _start(
        self, head: h11.Response | h11.InformationalResponse, answered: headers.Pairs
    ) -> None:
        self._started = True
        audit = (b"audit-id", self._request.audit_id.encode("latin-1"))
        self._request.streamed_code = head.status_code
        start = {
            "type": "http.response.start",
            "status": head.status_code,
            "headers": [audit, *headers.back(answered)],
        }
        await self._outlet.send(start)
        if self._request.info.verb == "watch":  # clients wait for the head of a watch
            await self._outlet.send({"type": "http.response.body", "body": b"", "more_body": True})


def _error(text: str, status: int = 503) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
