"""/openapi/v2 and /openapi/v3."""

from __future__ import annotations

from django.http.response import HttpResponseBase

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.routes import not_found
from apiserver.endpoints.server import Server


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    return await not_found(server, request, send)
