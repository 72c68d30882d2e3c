"""The ASGI entry: one coroutine from a connection to an answer, without thread hops.

The order of the filters is here and nowhere else: tenant's row → authenticate → tenant →
limits → impersonate → authorize → view or consumer. Authentication comes
before DRF's own negotiation, as in kube-apiserver. Whatever a view raises becomes a Status in `failure`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec import negotiate
from apiserver.endpoints import metrics
from apiserver.endpoints.consumers import watch_socket
from apiserver.endpoints.encode import respond
from apiserver.endpoints.filters import limits
from apiserver.endpoints.filters.authentication import authenticate, impersonate
from apiserver.endpoints.filters.authorization import ALWAYS_ALLOWED, authorize
from apiserver.endpoints.filters.tenancy import enter_tenant
from apiserver.endpoints.request import ApiRequest, ClientGone, Message, Receive, Send
from apiserver.endpoints.respond import send_response
from apiserver.endpoints.routes import View, find_view
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.dispatch import find_scope, look_up
from apiserver.errors import ApiError, BadRequest, UnknownResource
from apiserver.registry.scope import Tenant
from apiserver.registry.translate import unavailable
from apiserver.storage.errors import TenantGone, Unavailable

log = logging.getLogger("polyplane.api")

Application = Callable[[Message, Receive, Send], Awaitable[None]]

PROBE_PATIENCE = 1.0
"""Seconds for which a probe waits for what other requests need."""
CONSOLE_PREFIXES = ("/admin", "/static/", "/favicon.ico")


class Entry:
    """``server``: called at the first request, because it needs a running event loop; ``console``: Django's own ASGI application."""

    def __init__(
        self, make_server: Callable[[], Awaitable[Server]], stop: Callable[[Server], Awaitable[None]], console: Application
    ) -> None:
        self._make, self._stop, self._console = make_server, stop, console
        self.server: Server | None = None
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await self._lifespan(receive, send)
        elif scope["path"].startswith(CONSOLE_PREFIXES) and kind == "http":
            await self._console(scope, receive, send)
        elif kind == "http":
            await self._http(await self._ready(), scope, receive, send)
        elif kind == "websocket":
            await self._websocket(await self._ready(), scope, receive, send)

    async def _ready(self) -> Server:
        """Servers without lifespan events (Daphne) start at the first request."""
        if self.server is None:
            async with self._starting:  # the first requests may come together
                if self.server is None:
                    self.server = await self._make()
        return self.server

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._ready()
                except Exception as e:
                    log.exception("the server cannot start")
                    await send({"type": "lifespan.startup.failed", "message": str(e)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                if self.server is not None:
                    await self._stop(self.server)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, server: Server, scope: Message, receive: Receive, send: Send) -> None:
        request = ApiRequest(scope, receive)
        metrics.begin(request)
        began, response = monotonic(), None
        try:
            response = await self._answer(server, request, send)
            if response is not None:
                await send_response(request, response, send)
        finally:
            limits.give_back(server, request)
            metrics.observe(request, response, monotonic() - began)

    async def _answer(self, server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
        """None: the view has sent its answer itself, or nobody is there to get one."""
        try:
            view = await self._filters(server, request)
            return await view(server, request, send)
        except ClientGone:
            return None
        except Exception as e:
            return failure(request, e)

    async def _filters(self, server: Server, request: ApiRequest) -> View:
        if request.path in ALWAYS_ALLOWED:
            await self._admit_probe(server, request)
        else:
            await self._admit(server, request)
        return find_view(server, request)

    async def _admit(self, server: Server, request: ApiRequest) -> None:
        found = await server.directory.tenant(request.info.tenant)
        request.tenant = Tenant(0, "") if found is None else Tenant(found.id, found.name)
        user = await authenticate(server, request)
        request.tenant = await enter_tenant(server, request, found, user)
        if not request.tenant.id:
            request.user = user
            return
        if found is not None and request.info.path not in ALWAYS_ALLOWED:
            limits.take(server, request, found)
        await server.registry.watches.heard(request.tenant.id)
        request.user = await impersonate(server, request, user)
        await authorize(server, request)

    async def _admit_probe(self, server: Server, request: ApiRequest) -> None:
        """A probe asks whether the database is there, among other things: it cannot fail, or wait, because the filters need it."""
        try:
            async with asyncio.timeout(PROBE_PATIENCE):
                await self._admit(server, request)
        except (Unavailable, TimeoutError):
            request.tenant = Tenant(0, "")

    async def _websocket(self, server: Server, scope: Message, receive: Receive, send: Send) -> None:
        request = ApiRequest({**scope, "method": "GET"}, receive)
        try:
            await self._filters(server, request)
            if request.info.verb != "watch" or request.info.subresource:  # what has been authorized is something else
                raise BadRequest("a WebSocket carries a watch: ask for it with watch=true")
            await look_up(server, request)
            found = find_scope(server, request)
            if found is None:
                raise UnknownResource
            await watch_socket(server, request, found, receive, send)
        except Exception as e:
            answer = failure(request, e)
            await receive()  # a socket may be closed once it has asked to be opened
            reason = e.message[:120] if isinstance(e, ApiError) else ""
            await send({"type": "websocket.close", "code": 4000 + answer.status_code, "reason": reason})
        finally:
            limits.give_back(server, request)


def failure(request: ApiRequest, error: Exception) -> HttpResponse:
    """Any exception as a Status. What nobody foresaw is logged with the audit id and tells the client nothing else."""
    if isinstance(error, Unavailable | TenantGone):
        log.warning("storage: audit-id=%s %s", request.audit_id, error)
        error = unavailable(error)
    if not isinstance(error, ApiError):
        log.error("request failed: audit-id=%s %s %s", request.audit_id, request.method, request.path, exc_info=error)
        error = ApiError(
            f"an error on the server prevented the request from succeeding (audit id {request.audit_id})", reason="InternalError", code=500
        )
    pretty = negotiate.wants_pretty(request.scope.get("query_string", b"").decode("latin-1"), request.header(b"user-agent"))
    kind = negotiate.negotiate_error(request.header(b"accept"), pretty=pretty)
    response = respond(error.to_status(), kind, error.code)
    if error.retry_after:
        response["Retry-After"] = str(error.retry_after)
    return response
