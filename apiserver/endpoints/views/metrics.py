"""/metrics in Prometheus' text format, under kube-apiserver's names."""

from __future__ import annotations

from django.http import HttpResponse

from apiserver.endpoints.metrics import REGISTRY
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    return HttpResponse(REGISTRY.expose(), content_type="text/plain; version=0.0.4; charset=utf-8")
