"""The ASGI entry: one coroutine from a connection to an answer, without thread hops.

The order of the filters is here and nowhere else: tenant's name → its row → authenticate → tenant →
limits → impersonate → fairness → authorize → view or consumer. Authentication comes before DRF's
own negotiation, as in kube-apiserver. Whatever a view raises becomes a Status in `failure`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic

from channels.routing import ProtocolTypeRouter
from django.http.response import HttpResponseBase

from apiserver.audit import latencies
from apiserver.audit.recorder import UNHEARD
from apiserver.endpoints import metrics
from apiserver.endpoints.consumers import watch_socket
from apiserver.endpoints.failure import failure
from apiserver.endpoints.filters import auditing, fairness, limits
from apiserver.endpoints.filters.authentication import (
    NOBODY,
    authenticate,
    bearer_token,
    impersonate,
    recall,
)
from apiserver.endpoints.filters.authorization import ALWAYS_ALLOWED, attributes_of, authorize
from apiserver.endpoints.filters.naming import tenant_name
from apiserver.endpoints.filters.tenancy import enter_tenant, look_up_tenant, unproven
from apiserver.endpoints.request import PORT_OF, ApiRequest, HeadersTooLarge, Message, Receive, Send
from apiserver.endpoints.respond import send_response, send_text
from apiserver.endpoints.routes import find_view
from apiserver.endpoints.server import Server
from apiserver.endpoints.sockets import STREAMS, forward_socket, refuse_socket
from apiserver.endpoints.tunnels import opener
from apiserver.endpoints.views.base import View
from apiserver.endpoints.views.dispatch import dispatch, find_scope, look_up, served_elsewhere
from apiserver.errors import ApiError, BadRequest, UnknownResource
from apiserver.registry.offload import ClientGone
from apiserver.registry.scope import NO_TENANT, Tenant
from apiserver.storage.errors import Unavailable
from apiserver.user import User
from apiserver.whose import works_for

log = logging.getLogger("polyplane.api")

Application = Callable[[Message, Receive, Send], Awaitable[None]]

PROBE_PATIENCE = 1.0
"""Seconds for which a probe waits for what other requests need."""
CONSOLE_PREFIXES = ("/admin", "/static/", "/favicon.ico")


class Entry(ProtocolTypeRouter):  # type: ignore[misc]  # Channels has no types
    """Channels' router by protocol. ``server``: called at the first request, because it needs a
    running event loop; ``console``: Django's own ASGI application."""

    def __init__(
        self,
        make_server: Callable[[], Awaitable[Server]],
        stop: Callable[[Server], Awaitable[None]],
        console: Application,
    ) -> None:
        super().__init__(
            {
                "http": self._http,
                "websocket": self._websocket,
                "lifespan": self._lifespan,
            }
        )
        self._make, self._stop, self._console = make_server, stop, console
        self.server: Server | None = None
        self._starting = asyncio.Lock()

    async def identified(
        self, who: User | ApiError, scope: Message, receive: Receive, send: Send
    ) -> None:
        """A request of which somebody else knows who sends it, or why nobody may: from there on it
        goes the way of all. ``scope``: without the headers and extensions that say it elsewhere."""
        await self._http(scope, receive, send, who)

    async def _ready(self) -> Server:
        """Servers without lifespan events (Daphne) start at the first request."""
        if self.server is None:
            async with self._starting:  # the first requests may come together
                if self.server is None:
                    self.server = await self._make()
        return self.server

    async def _lifespan(self, scope: Message, receive: Receive, send: Send) -> None:
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

    async def _http(
        self, scope: Message, receive: Receive, send: Send, who: User | ApiError | None = None
    ) -> None:
        if who is None and _is_for_console(scope):
            await self._console(scope, receive, send)
            return
        server = self.server or await self._ready()
        try:
            request = ApiRequest(scope, receive)
        except HeadersTooLarge:
            await send_text(send, 431, b"431 Request Header Fields Too Large")
            return
        if who is not None:
            request.identified = who
        metrics.begin(request)
        response = None
        try:
            response = await self._answer(server, request, send)
            if response is not None:
                begun = monotonic()
                await send_response(server.outlets, request, response, send)
                auditing.took(request, latencies.WRITING, begun)
        except ClientGone:
            pass
        finally:
            fairness.over(request)
            limits.give_back(server, request)
            auditing.finish(server, request, response)
            metrics.observe(request, response, monotonic() - request.began)

    async def _answer(
        self, server: Server, request: ApiRequest, send: Send
    ) -> HttpResponseBase | None:
        """None: the view has sent its answer itself, or nobody is there to get one."""
        try:
            view = await self._filters(server, request)
            return await view(server, request, send)
        except ClientGone:
            request.streamed_code = UNHEARD
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
        secret = bearer_token(request)
        known = recall(server, request, secret)
        if known is None:
            name = await tenant_name(server, request, secret)
            tenant_info = await look_up_tenant(server, name)
            request.meant = unproven(tenant_info, name)
            user = await authenticate(server, request, request.meant, secret)
        else:
            tenant_info, user = known
            name = tenant_info.name
            request.meant = Tenant(tenant_info.id, name)
        request.sender = user
        if tenant_info is not None and request.path not in ALWAYS_ALLOWED:
            await works_for(-tenant_info.id if user is NOBODY else tenant_info.id)
        request.tenant = await enter_tenant(server, name, tenant_info, request.meant, user)
        asked = attributes_of(request, user)
        auditing.begin(server, request, asked)
        auditing.took(request, latencies.AUTHENTICATION, request.began)
        if tenant_info is not None and request.tenant.id:
            metrics.enter(request)
            if request.info.path not in ALWAYS_ALLOWED:
                limits.take(server, request, tenant_info)
            await server.registry.watches.heard(request.tenant.id)
        begun = monotonic()
        request.user = await impersonate(server, request, user)
        if request.user is not user:
            auditing.took(request, latencies.IMPERSONATION, begun)
            auditing.acts_as(request, request.user)
            asked = asked._replace(user=request.user)
        if server.flows is not None and tenant_info is not None and request.tenant.id:
            begun = monotonic()
            await fairness.enter(server.flows, server.defaults, request, tenant_info)
            auditing.took(request, latencies.QUEUE, begun)
        begun = monotonic()
        await authorize(server, request, asked)
        auditing.took(request, latencies.AUTHORIZATION, begun)

    async def _admit_probe(self, server: Server, request: ApiRequest) -> None:
        """A probe asks whether the database is there, among other things: it cannot fail, or wait,
        because the filters need it."""
        try:
            async with asyncio.timeout(PROBE_PATIENCE):
                await self._admit(server, request)
        except (Unavailable, TimeoutError):
            request.tenant = NO_TENANT

    async def _websocket(self, scope: Message, receive: Receive, send: Send) -> None:
        server = await self._ready()
        try:
            request = ApiRequest({**scope, "method": "GET"}, receive)
        except HeadersTooLarge:
            await receive()
            await send({"type": "websocket.close", "code": 4431})
            return
        try:
            await self._filters(server, request)
            if request.info.is_resource and opener(request) is not None:
                backend = await served_elsewhere(server, request)
                if backend is not None:
                    await forward_socket(server, request, receive, send, backend)
                    return
            if request.info.subresource in STREAMS:
                response = await dispatch(server, request, send)  # why there is none to be had
                if response is not None:
                    await refuse_socket(server, request, response, receive, send)
                return
            if (
                request.info.verb != "watch" or request.info.subresource
            ):  # what has been authorized is something else
                raise BadRequest("a WebSocket carries a watch: ask for it with watch=true")
            await look_up(server, request)
            target = find_scope(server, request)
            if target is None:
                raise UnknownResource
            await watch_socket(server, request, target, receive, send)
        except Exception as e:
            reason = e.message if isinstance(e, ApiError) else ""
            await refuse_socket(server, request, failure(request, e), receive, send, reason)
        finally:
            fairness.over(request)
            limits.give_back(server, request)
            auditing.finish(server, request, None)


def _is_for_console(scope: Message) -> bool:
    """The console's own paths, and the root for a browser, which asks for HTML before all else; API
    clients get the root's list of paths. It is all tenants', and so not at a port of one."""
    path: str = scope["path"]
    if not path.startswith(CONSOLE_PREFIXES) and (path != "/" or not _prefers_html(scope)):
        return False
    return PORT_OF not in (scope.get("extensions") or ())


def _prefers_html(scope: Message) -> bool:
    accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return bool(accept.lstrip().startswith(b"text/html"))
