"""/api, /apis, /apis/GROUP, /apis/GROUP/VERSION, and / (all paths).

In kube-apiserver, /apis and /apis/GROUP are answered by the aggregator, whatever the method; the
others stand behind the router of the resources, which knows GET alone. Source:
k8s.io/kube-aggregator ``apiserver/handler_apis.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from apiserver.aggregation.backends import Backend
from apiserver.aggregation.documents import Listed
from apiserver.authn import openid
from apiserver.codec import negotiate
from apiserver.codec.negotiate import Accepted
from apiserver.endpoints import discovery, encode
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.aggregated import backend_of, forward
from apiserver.endpoints.views.base import Handler, KubernetesView, routed
from apiserver.errors import MethodNotAllowed, UnknownResource
from apiserver.kinds.served import Resource
from apiserver.meta import features
from apiserver.meta.gvk import GroupVersionKind
from apiserver.registry.offload import by_size
from apiserver.storage.errors import StorageError

log = logging.getLogger("polyplane.discovery")

T = TypeVar("T")

PATHS = frozenset(
    {"/api", "/api/v1", "/apis", "/flagz", "/healthz", "/livez", "/metrics", "/metrics/slis"}
    | {"/openapi/v2", "/openapi/v3", "/readyz", "/statusz", "/version"}
    | {openid.CONFIGURATION, openid.KEYS}
)
"""What is served beside groups of resources."""
GATES = {"/flagz": "ComponentFlagz", "/statusz": "ComponentStatusz"}
"""Feature gates of those that can be switched off."""

_AGGREGATED = GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")
_AGGREGATORS_OWN = "apiregistration.k8s.io"
_VERSION_BYTES = 128
"""What a version of a resource adds to a document, or a little less."""
_PARAMETERS = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _aggregated_or_plain(media_type: str, target: GroupVersionKind | None) -> bool:
    return target is None or target == _AGGREGATED


async def latest(server: Server, request: ApiRequest) -> None:
    """What any worker has told of definitions shows in every document from then on. Without the
    database, what is known has to do."""
    try:
        await server.catalog.fresh(request.tenant)
    except StorageError as e:
        log.info("documents of tenant %s may be old: %s", request.tenant.name, e)


async def others(server: Server, request: ApiRequest) -> Sequence[Listed]:
    """What other servers serve in the tenant."""
    return await server.aggregator.listed(request.tenant) if server.aggregator is not None else ()


async def beside_large(
    request: ApiRequest,
    resources: Sequence[Resource],
    work: Callable[[], T],
    others: Sequence[Listed] = (),
) -> T:
    """What ``work`` makes of the resources, and of what ``others`` serve. Definitions can have
    thousands of versions, and so can other servers."""
    size = _VERSION_BYTES * sum(len(resource.versions) for resource in resources)
    size += sum(_VERSION_BYTES + other.served.size for other in others)
    return await by_size(request.asker(size), work)


class DiscoveryView(KubernetesView):
    """_routed: whether the document stands behind the router of the resources, which looks at the
    Accept header first; _media_types: what the document is offered in; _allow: as what."""

    _routed = False
    _media_types: tuple[str, ...] = negotiate.DISCOVERY
    _allow: negotiate.Allow = staticmethod(negotiate.allow_plain)

    def handler(self) -> Handler:
        return self.get  # the aggregator looks at no method, the router refuses below

    def accept(self, request: ApiRequest, offered: tuple[str, ...]) -> Accepted:
        accept = request.header(b"accept")
        if self._routed:
            negotiate.check_route(accept, supported=self._media_types)
        pretty = encode.wants_pretty(request)
        return negotiate.negotiate(accept, self._allow, self._media_types, pretty=pretty)

    async def render(self, response: Response) -> None:
        await beside_large(self.request, self._resources, response.render, self._others)

    async def get(self, request: Request) -> Response | None:
        parts = [p for p in self.request.info.path.split("/") if p]
        await latest(self.server, self.request)
        if len(parts) == 3 and (backend := await self._backend(*parts[1:])) is not None:
            return await forward(self.server, self.request, self.send, backend)
        self._resources = resources = self.server.registry.catalog.all(self.request.tenant)
        self._others = await others(self.server, self.request)
        group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
        handled = any(not r.has_routes for r in resources if r.group == group)
        self._routed = (
            parts[0] == "api" or (len(parts) > 2 and not handled) or group == _AGGREGATORS_OWN
        )
        if self._routed and self.request.method != "GET":
            raise MethodNotAllowed
        if len(parts) == 1:
            return await self._root(request, parts[0])
        document: Any = None
        if parts[0] == "api" and len(parts) == 2:
            document = discovery.api_resource_list(resources, "", parts[1])
        elif parts[0] == "apis" and len(parts) in (2, 3):
            groups = await beside_large(
                self.request,
                resources,
                lambda: discovery.groups(resources, self._others),
                self._others,
            )
            if group not in groups:
                return not_found()
            if len(parts) == 2:
                return Response(discovery.api_group(group, groups[group]))
            document = discovery.api_resource_list(resources, group, parts[2])
            if document is None and handled:
                return not_found()
        if document is None:
            raise UnknownResource
        # lists of resources come from the groups' own handlers, which know CBOR; the documents
        # above them do not
        self._media_types = negotiate.ALL
        return Response(document)

    async def _backend(self, group: str, version: str) -> Backend | None:
        try:
            return await backend_of(self.server, self.request.tenant, group, version)
        except StorageError:
            return None  # what is known has to do

    async def _root(self, request: Request, root: str) -> Response:
        """/api and /apis, plain or aggregated."""
        if self.request.info.path != "/apis/":
            self._allow = _aggregated_or_plain
        aggregated = self.negotiate(request).convert is not None
        resources = self._resources
        if not aggregated:
            address = self.request.header(b"host") or "127.0.0.1:6443"
            return Response(
                discovery.api_versions(address)
                if root == "api"
                else await beside_large(
                    self.request,
                    resources,
                    lambda: discovery.api_group_list(resources, self._others),
                    self._others,
                )
            )

        def tagged() -> tuple[Any, str]:
            document = discovery.aggregated(resources, self._others, core=root == "api")
            return document, discovery.etag(document)

        document, tag = await beside_large(self.request, resources, tagged, self._others)
        headers = {"ETag": tag, "Vary": "Accept"}
        if self.request.header(b"if-none-match") == tag:
            response = HttpResponse(status=304, headers=headers)
            del response[
                "Content-Type"
            ]  # client-go's cache would take it for the type of what it has
            return response
        media_type = request.accepted_media_type + _PARAMETERS
        return Response(document, headers=headers, content_type=media_type)


dispatch = routed(DiscoveryView)


async def paths(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    """Every path that leads somewhere."""
    entries = {path for path in PATHS if path not in GATES or features.enabled(GATES[path])}
    entries |= {"/apis/", "/openapi/v3/"}  # all below them is handled, too
    await latest(server, request)
    resources = server.registry.catalog.all(request.tenant)
    elsewhere = await others(server, request)
    for group, versions in (
        await beside_large(
            request, resources, lambda: discovery.groups(resources, elsewhere), elsewhere
        )
    ).items():
        entries.add(f"/apis/{group}")
        entries |= {f"/apis/{group}/{v}" for v in versions}
    return HttpResponse(
        orjson.dumps({"paths": sorted(entries)}, option=orjson.OPT_INDENT_2),
        content_type="application/json",
    )
