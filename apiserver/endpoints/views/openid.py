"""/.well-known/openid-configuration and /openid/v1/jwks of a tenant: how others verify its service
accounts' tokens.

RBAC gives them to service accounts (``system:service-account-issuer-discovery``), as in
kube-apiserver. Source: kubernetes ``pkg/routes/openidmetadata.go``; RFC 7517, section 8.5.1.
"""

from __future__ import annotations

import re
from typing import Any

import orjson
from django.http import HttpResponse

from apiserver.authn import openid
from apiserver.codec import negotiate
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.errors import MethodNotAllowed
from apiserver.request import DEFAULT_TENANT

KEY_SET = "application/jwk-set+json"
_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?", re.ASCII)


async def configuration(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    host, tenant = request.header(b"host"), request.tenant.name
    prefix = "" if tenant == DEFAULT_TENANT else f"/clusters/{tenant}"
    address = host if _HOST.fullmatch(host) else "127.0.0.1:6443"
    ring = await server.tokens.keys.whole_ring(request.tenant.id)
    document = openid.configuration(
        server.tokens.issuer(tenant), f"https://{address}{prefix}{openid.KEYS}", ring
    )
    return _public(request, document, negotiate.JSON)


async def keys(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    ring = await server.tokens.keys.whole_ring(request.tenant.id)
    return _public(request, openid.key_set(ring), KEY_SET)


def _public(request: ApiRequest, document: dict[str, Any], media_type: str) -> HttpResponse:
    if request.method != "GET":
        raise MethodNotAllowed
    negotiate.check_route(request.header(b"accept"), supported=(media_type,))
    response = HttpResponse(orjson.dumps(document), content_type=media_type)
    response["Cache-Control"] = f"public, max-age={openid.MAX_AGE}"
    return response


VIEWS = {openid.CONFIGURATION: configuration, openid.KEYS: keys}
"""By path; a slash may follow."""
