"""KubernetesView: DRF's APIView made asynchronous and thin.

Authentication and authorization have happened in the filters, before DRF negotiates: Kubernetes answers in that order. Negotiation,
parsers and renderers are Kubernetes' own (apiserver.codec), so DRF's are switched off; what remains of DRF is dispatch by method.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.views import APIView

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.errors import MethodNotAllowed

Handler = Callable[[], Awaitable[HttpResponseBase | None]]


class KubernetesView(APIView):  # type: ignore[misc]  # DRF has no types
    """One instance serves one request; a subclass defines coroutine methods get, post, put, patch, delete."""

    authentication_classes: ClassVar[list[type]] = []
    permission_classes: ClassVar[list[type]] = []
    throttle_classes: ClassVar[list[type]] = []
    parser_classes: ClassVar[list[type]] = []
    renderer_classes: ClassVar[list[type]] = []
    http_method_names: ClassVar[list[str]] = ["get", "post", "put", "patch", "delete"]

    def __init__(self, server: Server, request: ApiRequest, send: Send) -> None:
        # APIView.__init__ only copies keyword arguments of as_view()
        self.server, self.request, self.send = server, request, send

    async def dispatch(self) -> HttpResponseBase | None:
        method = (self.request.method or "").lower()
        handler: Handler | None = getattr(self, method, None) if method in self.http_method_names else None
        if handler is None:
            raise MethodNotAllowed
        return await handler()


async def run(view: type[KubernetesView], server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
    return await view(server, request, send).dispatch()


def json_response(body: bytes, status: int = 200, content_type: str = "application/json") -> HttpResponse:
    return HttpResponse(body, status=status, content_type=content_type)
