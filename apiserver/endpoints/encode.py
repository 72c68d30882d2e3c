"""From what the registry returns to the answer: encoding, Table, PartialObjectMetadata.

The fast way is for JSON of a built-in kind in its storage version: stored bytes go out as they are,
a list is those bytes joined. Everything else is made by an encoding (`encodings`), lists item by
item; a list of more than `STREAM_FROM` stored bytes is sent while it is being made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec import negotiate
from apiserver.codec.negotiate import Accepted
from apiserver.codec.partial import list_metadata as bare_metadata
from apiserver.codec.partial import partial_object, refuse_list, refuse_object
from apiserver.codec.table import check_include_object, column_definitions, table, table_row
from apiserver.endpoints import disclosure
from apiserver.endpoints.encodings import BY_MEDIA_TYPE
from apiserver.endpoints.encodings.base import ListBody
from apiserver.endpoints.encodings.json import joined_stored
from apiserver.endpoints.outlets import SLICE
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.respond import BytesResponse, PartsResponse
from apiserver.kinds.base import Column
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.registry import weight
from apiserver.registry.core import Registry
from apiserver.registry.offload import LARGE, Asker, repeatable
from apiserver.registry.options import first
from apiserver.registry.reading import Listing, plain
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.versions import shown
from apiserver.watch.cache import Entries
from apiserver.watch.entry import Entry

STREAM_FROM = 4 * 1024 * 1024
"""Bytes of stored objects."""
_PARTIAL = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadata")


def accepted(request: ApiRequest, scope: Scope) -> Accepted:
    """Raises NotAcceptable."""
    accept = request.header(b"accept")
    if scope.resource.has_routes:
        listing = request.method == "GET" and not scope.name and "watch" in scope.served.verbs
        negotiate.check_route(accept, lists=listing)
    return negotiate.negotiate(accept, allowed(scope), negotiate.ALL, pretty=wants_pretty(request))


def allowed(scope: Scope) -> negotiate.Allow:
    resource = scope.resource
    table = (bool(scope.served.columns) or not resource.has_go_type) and _prints(scope)
    return negotiate.allow_resource(resource.encodings, table=table)


def _prints(scope: Scope) -> bool:
    """Subresources of a kind of their own are not printed, with the exception of Scale: no token,
    binding or eviction is a Table. Nor are those of which the kind says so."""
    own = scope.served.subresources.get(scope.subresource)
    if own is None:
        return True
    if own.name in scope.resource.hooks.unprinted:
        return False
    return own.kind.kind in (scope.resource.kind, "Scale")


def wants_pretty(request: ApiRequest) -> bool:
    query = request.scope.get("query_string")
    text = query.decode("latin-1") if query else ""
    return negotiate.wants_pretty(text, request.header(b"user-agent"))


def respond(value: Any, kind: Accepted, status: int = 200) -> HttpResponse:
    """Any object in the negotiated encoding, whole."""
    content = BY_MEDIA_TYPE[kind.media_type].render(value, pretty=kind.pretty)
    return HttpResponse(content, status=status, content_type=kind.media_type)


class LateResponse(HttpResponseBase):
    """An answer that is made once the view is done: beside the event loop where it is about a large
    object, or takes long."""

    def __init__(self, asker: Asker, make: Callable[[], HttpResponseBase]) -> None:
        # HttpResponseBase.__init__ makes what only the answer itself needs
        self._asker, self._make = asker, make

    async def encoded(self) -> HttpResponseBase:
        """Raises what encoding raises, such as NotAcceptable."""
        return await repeatable(self._asker, self._make)


# --- one object -----------------------------------------------------------------------------------


Cells = Callable[[Object], Sequence[Any]]


def object_response(
    request: ApiRequest,
    scope: Scope,
    kind: Accepted,
    stored: Stored,
    status: int = 200,
    printed: tuple[Sequence[Column], Cells] | None = None,
) -> HttpResponseBase:
    """``printed``: columns and cells of a Table of something else than the resource's own kind."""
    disclosure.note(request, scope.resource, kind)
    if kind.convert is None and not kind.pretty and BY_MEDIA_TYPE[kind.media_type].stored:
        return BytesResponse(stored.json + b"\n", kind.media_type, status)

    def answer() -> HttpResponse:
        obj = stored.object
        if kind.convert is not None and obj.get("kind") != "Status":
            obj = _transformed(
                request,
                scope,
                kind.convert,
                obj,
                printed or (scope.served.columns, cells_of(scope)),
            )
        return respond(obj, kind, status)

    asker = scope.asker(weight.of_json(stored.json, scope.schema))
    late = asker.size >= LARGE or _has_tenants_columns(scope, kind)
    return LateResponse(asker, answer) if late else answer()


def _has_tenants_columns(scope: Scope, kind: Accepted) -> bool:
    """Whether it is a Table whose columns are a definition's: how long their paths take is not told
    by the size of an object."""
    table = kind.convert is not None and kind.convert.kind == "Table"
    return table and not scope.resource.has_go_type


def _transformed(
    request: ApiRequest,
    scope: Scope,
    target: GroupVersionKind,
    obj: Object,
    printed: tuple[Sequence[Column], Cells],
) -> Object:
    if target.kind == "Table":
        include = check_include_object(first(request.query, "includeObject"))
        metadata = obj.get("metadata", {})
        hooks = scope.resource.hooks
        return table(
            [obj],
            *printed,
            metadata=metadata,
            conditions=hooks.row_conditions,
            bare=hooks.unconverted,
            include=include,
            version=target.version,
        )
    if target.kind == "PartialObjectMetadata":
        return partial_object(scope.resource.hooks.unconverted(obj), target.version)
    raise refuse_object(
        scope.resource.group,
        obj.get("kind", scope.resource.kind),
        custom=not scope.resource.has_go_type,
    )


def cells_of(scope: Scope, now: datetime | None = None) -> Cells:
    """``now``: what ages are counted from; the time of the request by default."""
    hooks, version, now = scope.resource.hooks, scope.version, now or scope.now
    return lambda obj: hooks.cells(obj, version, now)


# --- lists ----------------------------------------------------------------------------------------


def list_metadata(scope: Scope, listing: Listing) -> Object:
    metadata: Object = (
        {"resourceVersion": str(listing.resource_version)} if listing.resource_version else {}
    )
    if listing.continue_token or not scope.resource.has_go_type:
        metadata["continue"] = listing.continue_token
    if listing.remaining is not None:
        metadata["remainingItemCount"] = listing.remaining
    if listing.shard:
        metadata["shardInfo"] = {"selector": listing.shard}
    return metadata


def list_response(
    request: ApiRequest, registry: Registry, scope: Scope, kind: Accepted, listing: Listing
) -> HttpResponseBase:
    disclosure.note(request, scope.resource, kind)
    metadata = list_metadata(scope, listing)
    items = listing.items
    # records have bytes as well
    sizes = items if isinstance(items, Entries) else Entries(items)  # type: ignore[arg-type]
    large = sizes.size > STREAM_FROM
    encoding = BY_MEDIA_TYPE[kind.media_type]
    if kind.convert is None and not kind.pretty and encoding.stored and plain(scope):
        at_once = max(1, SLICE // sizes.largest) if large else len(items) or 1
        make = partial(stored_parts, scope, metadata, listing, at_once)
    else:
        body = _body(request, registry, scope, kind.convert, listing, metadata)
        if not body.count and kind.convert is not None and body.key == "items":
            return respond({**body.head, "items": None}, kind)
        make = partial(encoding.list_parts, body, pretty=kind.pretty)
    if large:
        holds = 0 if isinstance(items[0], Entry) else sizes.size  # entries are the cache's, too
        return PartsResponse(make(), content_type=kind.media_type, holds=holds)

    def answer() -> BytesResponse:
        return BytesResponse(b"".join(make()), kind.media_type)

    late = _has_tenants_columns(scope, kind)
    return LateResponse(scope.asker(sizes.size), answer) if late else answer()


def stored_parts(scope: Scope, metadata: Object, listing: Listing, at_once: int) -> Iterator[bytes]:
    """Items of typed lists carry no kind and apiVersion, which stand at the beginning of every
    stored object."""
    resource, gvk = scope.resource, scope.gvk
    skip = len(f'{{"kind":"{resource.kind}","apiVersion":"{gvk.api_version}",')
    head = {"kind": resource.list_kind, "apiVersion": gvk.api_version, "metadata": metadata}
    return joined_stored(skip, head, listing.items, at_once)


def _body(
    request: ApiRequest,
    registry: Registry,
    scope: Scope,
    target: GroupVersionKind | None,
    listing: Listing,
    metadata: Object,
) -> ListBody:
    def objects() -> Iterator[Object]:
        for item in listing.items:
            yield shown(registry, scope, item)

    count = len(listing.items)
    if target is None:
        return _plain_body(scope, objects, count, metadata)
    version = target.version
    head: Object = {
        "kind": target.kind,
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": bare_metadata(metadata),
    }
    if target.kind == "Table":
        include = check_include_object(first(request.query, "includeObject"))
        head["columnDefinitions"] = column_definitions(scope.served.columns)
        rows = partial(_rows, scope, include=include, version=version, in_order=listing.sorted)
        return ListBody(head, "rows", lambda: rows(objects()), count, _PARTIAL)
    if target.kind == "PartialObjectMetadata":
        raise refuse_list(
            scope.resource.group, scope.resource.list_kind, custom=not scope.resource.has_go_type
        )
    item_kind, bare = _PARTIAL._replace(version=version), scope.resource.hooks.unconverted
    return ListBody(
        head,
        "items",
        lambda: (partial_object(bare(o), version) for o in objects()),
        count,
        item_kind,
    )


def _rows(
    scope: Scope, objects: Iterator[Object], *, include: str, version: str, in_order: bool
) -> Iterator[Object]:
    """``in_order``: whether the objects come in the order in which they are to be shown."""
    hooks, cells = scope.resource.hooks, cells_of(scope)
    if hooks.row_order is not None and not in_order:
        objects = iter(sorted(objects, key=hooks.row_order))
    conditions, bare = hooks.row_conditions, hooks.unconverted
    return (table_row(o, cells(o), include, version, conditions(o), bare) for o in objects)


def _plain_body(
    scope: Scope, objects: Callable[[], Iterator[Object]], count: int, metadata: Object
) -> ListBody:
    def untyped() -> Iterator[Object]:
        for obj in objects():
            del obj["kind"], obj["apiVersion"]
            yield obj

    resource, gvk = scope.resource, scope.gvk
    head = {"kind": resource.list_kind, "apiVersion": gvk.api_version, "metadata": metadata}
    if not resource.has_go_type:
        return ListBody(head, "items", objects, count, gvk)
    return ListBody(head, "items", untyped, count, gvk, scope.served.schema)
