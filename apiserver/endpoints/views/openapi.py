"""/openapi/v2 and /openapi/v3 (k8s.io/kube-openapi ``handler`` and ``handler3``)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec import negotiate, openapi_pb, openapi_v3_pb
from apiserver.endpoints.openapi.documents import Document, Documents, entries
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.aggregated import backend_of, forward
from apiserver.endpoints.views.discovery import beside_large, latest, others
from apiserver.registry.options import first

_V2 = {
    negotiate.JSON: (negotiate.JSON, Documents.v2),
    openapi_pb.OLD_MEDIA_TYPE: (openapi_pb.MEDIA_TYPE, Documents.v2_binary),
    openapi_pb.MEDIA_TYPE: (openapi_pb.MEDIA_TYPE, Documents.v2_binary),
}
"""What may be asked for: the type that is answered, and what makes the document."""
_V3 = {
    negotiate.JSON: (negotiate.JSON, Documents.v3),
    openapi_v3_pb.MEDIA_TYPE: (openapi_v3_pb.MEDIA_TYPE, Documents.v3_binary),
    openapi_v3_pb.OLD_MEDIA_TYPE: (openapi_v3_pb.MEDIA_TYPE, Documents.v3_binary),
}
_SNIFFED = "text/plain; charset=utf-8"
"""The index of version 3 is sent without a type of its own, and Go's guess knows no JSON."""
_IMMUTABLE = timedelta(days=365)
_documents: dict[str, Documents] = {}


def documents_of(server: Server) -> Documents:
    """Those of this process."""
    documents = _documents.get(server.git_version)
    if documents is None:
        documents = _documents[server.git_version] = Documents(server.git_version)
    return documents


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
    path = request.info.path
    await latest(server, request)
    if path == "/openapi/v2":
        return await _v2(server, request)
    if path == "/openapi/v3":
        resources = server.registry.catalog.all(request.tenant)
        elsewhere = {
            f"apis/{one.group_version}": one.served.openapi
            for one in await others(server, request)
            if one.served.openapi is not None
        }
        prefix = tenant_prefix(request)
        index = await documents_of(server).index(request.asker(), resources, prefix, elsewhere)
        return _answer(request, index, _SNIFFED)
    if path.startswith("/openapi/v3/"):
        return await _v3(server, request, path.removeprefix("/openapi/v3/"), send)
    return not_found()


def tenant_prefix(request: ApiRequest) -> str:
    """What the request's path has before the part that every tenant shares."""
    return (
        request.path.removesuffix(request.info.path).rstrip("/")
        if request.path != request.info.path
        else ""
    )


async def _v2(server: Server, request: ApiRequest) -> HttpResponse:
    accepted = _choose(request.header(b"accept"), tuple(_V2))
    if not accepted:
        return _bare(406)
    media_type, make = _V2[accepted]
    resources = server.registry.catalog.all(request.tenant)
    aggregator = server.aggregator
    more = await aggregator.swaggers(request.tenant) if aggregator is not None else ()
    document = await make(documents_of(server), request.asker(), resources, more)
    return _answer(request, document, media_type)


async def _v3(
    server: Server, request: ApiRequest, entry: str, send: Send
) -> HttpResponseBase | None:
    resources = server.registry.catalog.all(request.tenant)
    if entry not in await beside_large(request, resources, lambda: entries(resources)):
        parts = entry.split("/")
        if len(parts) == 3 and parts[0] == "apis":
            backend = await backend_of(server, request.tenant, parts[1], parts[2])
            if backend is not None:
                return await forward(server, request, send, backend)
        return _bare(404)
    accepted = _choose(request.header(b"accept"), tuple(_V3))
    if not accepted:
        return _bare(406)
    media_type, make = _V3[accepted]
    document = await make(documents_of(server), request.asker(), resources, entry)
    asked = first(request.query, "hash")
    if asked and asked != document.tag:
        response = HttpResponse(status=301, content_type=media_type)
        response["Location"] = f"{tenant_prefix(request)}/openapi/v3/{entry}?hash={document.tag}"
        response["ETag"], response["Vary"] = f'"{document.tag}"', "Accept"
        return response
    response = _answer(request, document, media_type)
    if asked:
        response["Cache-Control"] = "public, immutable"
        response["Expires"] = format_datetime(datetime.now(UTC) + _IMMUTABLE, usegmt=True)
    return response


def _bare(status: int) -> HttpResponse:
    response = HttpResponse(status=status)
    del response["Content-Type"]
    return response


def _choose(accept: str, offered: tuple[str, ...]) -> str:
    """The first offered type that the best matching clause allows, "" for none."""
    for clause in negotiate.parse_accept(accept or "*/*"):
        for media_type in offered:
            kind, _, subtype = media_type.partition("/")
            if clause.type in (kind, "*") and clause.subtype in (subtype, "*"):
                return media_type
    return ""


def _answer(request: ApiRequest, document: Document, media_type: str) -> HttpResponse:
    tag = f'"{document.tag}"'
    matched = request.header(b"if-none-match")
    if matched and (tag in matched or matched.strip() == "*"):
        response = HttpResponse(status=304)
        del response["Content-Type"]
    else:
        response = HttpResponse(document.body, content_type=media_type)
    response["ETag"] = tag
    response["Vary"] = "Accept"
    return response
