"""/api, /apis, /apis/GROUP, /apis/GROUP/VERSION, and / (all paths).

In kube-apiserver, /apis and /apis/GROUP are answered by the aggregator, whatever the method; the others stand behind the router of the
resources, which knows GET alone. Source: k8s.io/kube-aggregator ``apiserver/handler_apis.go``.
"""

from __future__ import annotations

import logging
from typing import Any

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.authn import openid
from apiserver.codec import negotiate
from apiserver.endpoints import discovery, encode
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.errors import MethodNotAllowed, UnknownResource
from apiserver.meta.gvk import GroupVersionKind
from apiserver.storage.errors import StorageError

log = logging.getLogger("polyplane.discovery")

_AGGREGATED = GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")
_AGGREGATORS_OWN = "apiregistration.k8s.io"
_PARAMETERS = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _aggregated_or_plain(media_type: str, target: GroupVersionKind | None) -> bool:
    return target is None or target == _AGGREGATED


async def latest(server: Server, request: ApiRequest) -> None:
    """What any worker has told of definitions shows in every document from then on. Without the database, what is known has to do."""
    try:
        await server.catalog.fresh(request.tenant)
    except StorageError as e:
        log.info("documents of tenant %s may be old: %s", request.tenant.name, e)


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    parts = [p for p in request.info.path.split("/") if p]
    await latest(server, request)
    resources = server.registry.catalog.all(request.tenant)
    group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
    custom = any(r.custom for r in resources if r.group == group)
    routed = parts[0] == "api" or (len(parts) > 2 and not custom) or group == _AGGREGATORS_OWN
    if routed and request.method != "GET":
        raise MethodNotAllowed
    if len(parts) == 1:
        return _root(request, parts[0], list(resources))
    document: Any = None
    if parts[0] == "api" and len(parts) == 2:
        document = discovery.api_resource_list(resources, "", parts[1])
    elif parts[0] == "apis" and len(parts) in (2, 3):
        groups = discovery.groups(resources)
        if group not in groups:
            return not_found()
        if len(parts) == 2:
            document = discovery.api_group(group, groups[group])
        else:
            document = discovery.api_resource_list(resources, group, parts[2])
            if document is None and custom:
                return not_found()
    if document is None:
        raise UnknownResource
    return _plain(request, document, routed=routed)


def _plain(request: ApiRequest, document: Any, *, routed: bool) -> HttpResponse:
    """``routed``: the router of the resources looks at the Accept header first."""
    # lists of resources come from the groups' own handlers, which know CBOR; the documents above them do not
    supported = negotiate.ALL if document["kind"] == "APIResourceList" else negotiate.DISCOVERY
    if routed:
        negotiate.check_route(request.header(b"accept"), supported=supported)
    kind = negotiate.negotiate(request.header(b"accept"), negotiate.allow_plain, supported, pretty=encode.wants_pretty(request))
    return encode.respond(document, kind)


def _root(request: ApiRequest, root: str, resources: list[Any]) -> HttpResponse:
    """/api and /apis, plain or aggregated."""
    accept = request.header(b"accept")
    if root == "api":
        negotiate.check_route(accept, supported=negotiate.DISCOVERY)
    allow = negotiate.allow_plain if request.info.path == "/apis/" else _aggregated_or_plain
    kind = negotiate.negotiate(accept, allow, negotiate.DISCOVERY, pretty=encode.wants_pretty(request))
    if kind.convert is None:
        address = request.header(b"host") or "127.0.0.1:6443"
        plain = discovery.api_versions(address) if root == "api" else discovery.api_group_list(resources)
        return encode.respond(plain, kind)
    document = discovery.aggregated(resources, core=root == "api")
    tag = discovery.etag(document)
    if request.header(b"if-none-match") == tag:
        response = HttpResponse(status=304)
        del response["Content-Type"]  # client-go's cache would take it for the type of what it has
    else:
        response = encode.respond(document, kind)
        response["Content-Type"] = kind.media_type + _PARAMETERS
    response["ETag"] = tag
    response["Vary"] = "Accept"
    return response


async def paths(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    """Every path that leads somewhere."""
    found = {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3"}
    found |= {"/readyz", "/version", openid.CONFIGURATION, openid.KEYS}
    await latest(server, request)
    for group, versions in discovery.groups(server.registry.catalog.all(request.tenant)).items():
        found.add(f"/apis/{group}")
        found |= {f"/apis/{group}/{v}" for v in versions}
    return HttpResponse(orjson.dumps({"paths": sorted(found)}, option=orjson.OPT_INDENT_2), content_type="application/json")
