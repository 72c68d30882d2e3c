"""From what the registry returns to the bytes of an answer: encoding, Table, PartialObjectMetadata.

The fast way is for JSON of a built-in kind in its storage version: stored bytes go out as they are, a list is those bytes joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from django.http import HttpResponse

from apiserver.codec import cbor, negotiate, protobuf, yaml
from apiserver.codec import json as json_codec
from apiserver.codec.negotiate import Accepted
from apiserver.codec.partial import partial_list, partial_object
from apiserver.codec.table import check_include_object, table
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import NotAcceptable
from apiserver.kinds.base import Object
from apiserver.meta.gvk import GroupVersionKind
from apiserver.registry.core import Registry
from apiserver.registry.options import first
from apiserver.registry.reading import Listing, plain
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope


def accepted(request: ApiRequest, scope: Scope) -> Accepted:
    """Raises NotAcceptable."""
    standard = negotiate.CUSTOM if scope.resource.custom else negotiate.ALL
    has_table = bool(scope.served.columns) or scope.resource.custom
    pretty = negotiate.wants_pretty(request.scope.get("query_string", b"").decode("latin-1"), request.header(b"user-agent"))
    accept = request.header(b"accept")
    if not scope.resource.custom and accept and not _routed(accept):
        listed = ", ".join(negotiate.ALL)
        raise NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {listed}", details={})
    return negotiate.negotiate(accept, negotiate.allow_resource(standard, table=has_table), negotiate.ALL, pretty=pretty)


def _routed(accept: str) -> bool:
    """kube-apiserver's router refuses, for built-in types, an Accept header none of whose media types it produces at all."""
    types = {clause.partition(";")[0].strip() for clause in accept.split(",")}
    return any(t in types for t in (*negotiate.ALL, *negotiate.STREAMS.values(), "*/*", "application/*", "*"))


def encode_value(value: Any, kind: Accepted) -> bytes:
    """Any object in the negotiated encoding, whole."""
    if kind.media_type == negotiate.JSON:
        return json_codec.dumps_pretty(value) if kind.pretty else json_codec.dumps(value)
    if kind.media_type == negotiate.YAML:
        return yaml.dumps(value)
    if kind.media_type == negotiate.CBOR:
        return cbor.dumps(value)
    return protobuf.encode(value)


def respond(value: Any, kind: Accepted, status: int = 200) -> HttpResponse:
    return HttpResponse(encode_value(value, kind), status=status, content_type=kind.media_type)


def object_response(request: ApiRequest, scope: Scope, kind: Accepted, stored: Stored, status: int = 200) -> HttpResponse:
    if kind.convert is None:
        if kind.media_type == negotiate.JSON and not kind.pretty:
            return HttpResponse(stored.json + b"\n", status=status, content_type=negotiate.JSON)
        return respond(stored.object, kind, status)
    target = kind.convert
    obj = stored.object
    if target.kind == "Table" and obj.get("kind") != "Status":
        include = check_include_object(first(request.query, "includeObject"))
        value = table(
            [obj], scope.served.columns, cells_of(scope), metadata=obj.get("metadata", {}), include=include, version=target.version
        )
    elif target.kind == "PartialObjectMetadata" and obj.get("kind") != "Status":
        value = partial_object(obj, target.version)
    elif target.kind == "PartialObjectMetadataList":
        raise NotAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list")
    else:
        value = obj
    return respond(value, kind, status)


def cells_of(scope: Scope) -> Callable[[Object], Sequence[Any]]:
    hooks, version, now = scope.resource.hooks, scope.version, scope.now
    return lambda obj: hooks.cells(obj, version, now)


def list_metadata(scope: Scope, listing: Listing) -> Object:
    metadata: Object = {"resourceVersion": str(listing.resource_version)}
    if listing.continue_token or scope.resource.custom:
        metadata["continue"] = listing.continue_token
    if listing.remaining is not None:
        metadata["remainingItemCount"] = listing.remaining
    return metadata


def list_response(request: ApiRequest, registry: Registry, scope: Scope, kind: Accepted, listing: Listing) -> HttpResponse:
    metadata = list_metadata(scope, listing)
    target = kind.convert
    if target is None and kind.media_type == negotiate.JSON and not kind.pretty and plain(scope):
        return HttpResponse(join_items(scope, metadata, listing), content_type=negotiate.JSON)
    objects = (registry.to_version(scope.resource, orjson.loads(item.json), scope.version) for item in listing.items)
    if target is not None:
        return respond(_transformed(request, scope, target, objects, metadata), kind)
    items = list(objects)
    if not scope.resource.custom:
        for item in items:
            del item["kind"], item["apiVersion"]
    gvk = GroupVersionKind(scope.resource.group, scope.version, scope.resource.list_kind)
    return respond({"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": metadata, "items": items}, kind)


def join_items(scope: Scope, metadata: Object, listing: Listing) -> bytes:
    """A list of stored bytes. Items of typed lists carry no kind and apiVersion, which stand at the beginning of every stored object."""
    resource = scope.resource
    gvk = scope.gvk
    skip = len(f'{{"kind":"{resource.kind}","apiVersion":"{gvk.api_version}",')
    head = orjson.dumps({"kind": resource.list_kind, "apiVersion": gvk.api_version, "metadata": metadata})
    body = b",{".join([item.json[skip:] for item in listing.items])
    return b'%b,"items":[%b%b]}\n' % (head[:-1], b"{" if listing.items else b"", body)


def _transformed(request: ApiRequest, scope: Scope, target: GroupVersionKind, objects: Any, metadata: Object) -> Object:
    if target.kind == "Table":
        include = check_include_object(first(request.query, "includeObject"))
        return table(objects, scope.served.columns, cells_of(scope), metadata=metadata, include=include, version=target.version)
    if target.kind == "PartialObjectMetadata":
        raise NotAcceptable("you requested PartialObjectMetadata, but the requested object is a list")
    return partial_list(objects, metadata, target.version)
