"""KubernetesView: DRF's APIView with coroutines for handlers.

Every request passes the filters first (`apiserver.endpoints.entry`): Kubernetes authenticates and
authorizes before it looks at the media type. So DRF's authentication and permission classes tell
what the filters have found, and negotiation waits until the view knows what it offers: what is not
there is 404, whatever the client accepts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apiserver.codec import negotiate
from apiserver.codec.negotiate import Accepted
from apiserver.endpoints import rest
from apiserver.endpoints.encode import wants_pretty
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.errors import MethodNotAllowed
from apiserver.platformroles import holds

Handler = Callable[[Any], Awaitable[HttpResponseBase | None]]
View = Callable[[Server, ApiRequest, Send], Awaitable[HttpResponseBase | None]]
"""None: the view has sent its answer itself (a stream)."""


_METHODS = ("get", "head", "post", "put", "patch", "delete")
_HANDLERS = {method.upper(): method for method in _METHODS}


class KubernetesView(APIView):  # type: ignore[misc]  # DRF has no types
    """``as_view()`` makes a coroutine function of (request, server=, send=). A subclass defines
    coroutine methods get, post, put, patch, delete, which get DRF's request and return DRF's
    Response, or any other answer of Django's. self.request: the request as the filters saw it."""

    authentication_classes: ClassVar[list[type]] = [rest.FilterAuthentication]
    permission_classes: ClassVar[list[type]] = [rest.FilterPermission]
    throttle_classes: ClassVar[list[type]] = []  # tenants' limits are a filter
    parser_classes: ClassVar[list[type]] = list(rest.PARSERS)
    renderer_classes: ClassVar[list[type]] = list(rest.RENDERERS.values())
    content_negotiation_class = rest.KubernetesNegotiation
    http_method_names: ClassVar[list[str]] = list(_METHODS)

    request: ApiRequest
    server: Server
    send: Send

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Awaitable[HttpResponseBase | None]]:
        # APIView's is wrapped to be exempt from CSRF checks, which no request comes across here
        view: Callable[..., Awaitable[HttpResponseBase | None]]
        view = super(APIView, cls).as_view(**initkwargs)
        return view

    def setup(self, request: ApiRequest, *, server: Server, send: Send) -> None:
        # View.setup makes a handler for HEAD, which Kubernetes has not
        self.request, self.server, self.send = request, server, send

    async def dispatch(self, request: ApiRequest, **_: Any) -> HttpResponseBase | None:
        """DRF's own steps, in Kubernetes' order."""
        wrapped = self.initialize_request(request)
        self.headers: dict[str, str] = {}
        try:
            self.initial(wrapped)
            response = await self.handler()(wrapped)
            if isinstance(response, Response):
                self.negotiate(wrapped)
        except Exception as error:
            response = self.handle_exception(error)
        if response is None:
            return None
        response = self.finalize_response(wrapped, response)
        if isinstance(response, Response):
            response.renderer_context["pretty"] = wrapped.accepted.pretty
            await self.render(response)
        answer: HttpResponseBase = response
        return answer

    def initial(self, request: Request) -> None:
        """Raises Forbidden."""
        self.format_kwarg = None
        self.perform_authentication(request)
        self.check_permissions(request)

    def handler(self) -> Handler:
        """Raises MethodNotAllowed."""
        handler: Handler | None = getattr(self, _HANDLERS.get(self.request.method or "", ""), None)
        if handler is None:
            raise MethodNotAllowed
        return handler

    def accept(self, request: ApiRequest, offered: tuple[str, ...]) -> Accepted:
        """Which of the media types ``offered`` the answer gets. Raises NotAcceptable."""
        return negotiate.negotiate(
            request.header(b"accept"),
            negotiate.allow_plain,
            offered,
            pretty=wants_pretty(request),
        )

    def negotiate(self, request: Request) -> Accepted:
        """Once for a request. Raises NotAcceptable."""
        if getattr(request, "accepted_renderer", None) is None:
            chosen = self.perform_content_negotiation(request)
            request.accepted_renderer, request.accepted_media_type = chosen
        accepted: Accepted = request.accepted
        return accepted

    async def render(self, response: Response) -> None:
        response.render()

    def get_exception_handler(self) -> Callable[..., HttpResponseBase]:
        return rest.exception_handler


def routed(view: type[KubernetesView]) -> View:
    """For `apiserver.endpoints.routes`."""
    serve = view.as_view()

    async def serving(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
        response: HttpResponseBase | None = await serve(request, server=server, send=send)
        return response

    return serving


def of_installation(request: ApiRequest, role: str = "") -> bool:
    """Whether a page that names no tenant, neither by path nor by host, is asked for by who may see
    all of the installation: with an operator's token that is good in all tenants, in
    system:masters, or of an account with the platform role."""
    return holds(request.user, role) and not request.info.tenant
