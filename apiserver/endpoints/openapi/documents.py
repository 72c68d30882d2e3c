"""OpenAPI documents of a tenant's resources, encoded and kept.

A document of one group and version depends on that group's resources alone. Built-in resources are
the same for all tenants, and custom ones that are made from equal definitions look alike, so
documents are kept by the identity of the former and the digest of the latter. What one resource
adds to a document is encoded once (`Parts`), so that a document that changes in one resource is put
together from texts: ten definitions in a row cost ten times what one costs. Everything is made when
somebody asks for it, in that tenant's turn.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import orjson

from apiserver.aggregation.swagger import Swagger
from apiserver.codec import openapi_pb, openapi_v3_pb
from apiserver.endpoints.openapi import definitions, render
from apiserver.endpoints.openapi.definitions import Node
from apiserver.endpoints.openapi.merged import merge
from apiserver.endpoints.openapi.operations import (
    Builder,
    Paths,
    document_operation,
    identifier,
    prefix_of,
    served_versions,
    tag_of,
)
from apiserver.endpoints.openapi.parts import Part, encoded, identity, part_of
from apiserver.kinds.served import Resource
from apiserver.registry.offload import Asker, beside
from apiserver.schema.definitions import META

Resources = Sequence[Resource]
_KEPT_V3, _KEPT_V3_BINARY, _KEPT_V2 = 48 * 2**20, 16 * 2**20, 16 * 2**20
"""Bytes of documents that a process keeps: those of version 3 take 4 MB for all built-in resources,
that of version 2 takes 2 MB."""
_INFO = "io.k8s.apimachinery.pkg.version.Info"


@dataclass(frozen=True, slots=True)
class Document:
    """body: as sent; tag: upper-case hash of the JSON form, the same for every encoding of one
    document."""

    body: bytes
    tag: str


def _tag(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()


def _encoded(value: Node) -> Document:
    body = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return Document(body, _tag(body))


# --- what there is --------------------------------------------------------------------------------


def entries(resources: Resources) -> list[str]:
    """The documents of version 3, by what follows /openapi/v3/: version, api, api/v1, apis,
    apis/GROUP, apis/GROUP/VERSION."""
    names = {"version", "api", "apis"}
    for resource, served in served_versions(resources):
        names.add(prefix_of(resource.group, served.version)[1:])
        if resource.has_routes:
            names.add(prefix_of(resource.group)[1:])
    return sorted(names)


def members(resources: Resources, entry: str) -> tuple[Resource, ...]:
    """The resources that a document of version 3 describes."""
    return tuple(
        r
        for r, served in served_versions(resources)
        if prefix_of(r.group, served.version)[1:] == entry
    )


def by_entry(resources: Resources) -> dict[str, list[Resource]]:
    """`members` of all entries that describe resources."""
    resources_of: dict[str, list[Resource]] = {}
    for resource, served in served_versions(resources):
        resources_of.setdefault(prefix_of(resource.group, served.version)[1:], []).append(resource)
    return resources_of


def _head_paths(entry: str) -> Paths:
    """The operation that reads the discovery document itself."""
    parts = entry.split("/")
    path = f"/{entry}/"
    if entry == "version":
        return document_operation(
            path, "getCodeVersion", "get the version information for this server", "version", _INFO
        )
    if entry == "api":
        return document_operation(
            path, "getCoreAPIVersions", "get available API versions", "core", META + "APIVersions"
        )
    if entry == "apis":
        return document_operation(
            path, "getAPIVersions", "get available API versions", "apis", META + "APIGroupList"
        )
    group = "" if parts[0] == "api" else parts[1]
    words = identifier(group.removesuffix(".k8s.io") or "core", capital=True)
    if parts[0] == "apis" and len(parts) == 2:
        return document_operation(
            path,
            f"get{words}APIGroup",
            "get information of a group",
            tag_of(group),
            META + "APIGroup",
        )
    version = parts[-1]
    id = f"get{words}{identifier(version, capital=True)}APIResources"
    return document_operation(
        path, id, "get available resources", tag_of(group, version), META + "APIResourceList"
    )


def _paths(resources: Resources, entry: str) -> Paths:
    paths: Paths = {}
    for resource, served in served_versions(resources):
        if prefix_of(resource.group, served.version)[1:] == entry:
            paths |= Builder(resource, served).build()
    return paths


# --- version 3 ------------------------------------------------------------------------------------


def build_v3(resources: Resources, entry: str, version: str) -> Document:
    is_custom = any(not r.has_routes for r in resources)
    built_in = [r for r in resources if r.has_routes]
    paths = _paths(built_in, entry)
    if not is_custom:
        paths |= _head_paths(entry)
    items: dict[str, Any] = {**render.v3_paths(paths)}
    schemas: dict[str, Any] = {**definitions.closure(render.used(paths), definitions.v3)}
    for resource, served in served_versions(resources):
        if not resource.has_routes and prefix_of(resource.group, served.version)[1:] == entry:
            part = part_of(resource, served, v2=False)
            items |= part.paths
            schemas |= part.schemas
    return _encoded(render.v3_document(items, schemas, version, custom=is_custom))


# --- version 2 ------------------------------------------------------------------------------------


@cache
def _builtin_v2(resources: tuple[Resource, ...]) -> Part:
    """What the built-in resources add, together."""
    operations: Paths = {}
    for entry in entries(resources):
        operations |= _head_paths(entry) | _paths(resources, entry)
    paths, size = encoded(render.v2_paths(operations))
    schemas, more = encoded(definitions.closure(render.used(operations), definitions.v2))
    return Part(paths, schemas, size + more)


def build_v2(resources: Resources, version: str, others: Sequence[Swagger] = ()) -> Document:
    """``others``: what other servers of the tenant add."""
    built_in = _builtin_v2(tuple(r for r in resources if r.has_routes))
    paths, schemas = {**built_in.paths}, {**built_in.schemas}
    for resource, served in served_versions([r for r in resources if not r.has_routes]):
        part = part_of(resource, served, v2=True)
        paths |= part.paths
        schemas |= part.schemas
    document = render.v2_document(paths, schemas, version)
    merge(document, others)
    return _encoded(document)


# --- keeping --------------------------------------------------------------------------------------


class Kept:
    """The latest documents, ``most`` bytes of them, made once: who asks meanwhile waits for the
    same result, and makes it where whoever began has given up."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._documents: OrderedDict[Hashable, asyncio.Future[Document]] = OrderedDict()

    async def get(self, asker: Asker, key: Hashable, make: Callable[[], Document]) -> Document:
        """Raises TooManyRequests, TimedOut, ClientGone."""
        while (document := self._documents.get(key)) is not None and not (
            document.done() and not _is_made(document)
        ):
            self._documents.move_to_end(key)
            if not document.done():
                await asyncio.wait([document])
            if _is_made(document):
                return document.result()
        mine = self._documents[key] = asyncio.ensure_future(beside(asker, make))
        mine.add_done_callback(lambda _: self._bound())
        return await mine

    def _bound(self) -> None:
        """Drops what nobody has, and those that nobody has asked for longest; the last one stays,
        whatever its size."""
        for key, document in list(self._documents.items()):
            if document.done() and not _is_made(document):
                del self._documents[key]
        size = sum(len(f.result().body) for f in self._documents.values() if _is_made(f))
        for key, document in list(self._documents.items())[:-1]:
            if size <= self._most:
                break
            if document.done():
                size -= len(document.result().body) if _is_made(document) else 0
                del self._documents[key]


def _is_made(document: asyncio.Future[Document]) -> bool:
    return document.done() and not document.cancelled() and document.exception() is None


class Documents:
    """version: the server's, as /version prints it."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._v3, self._v3_binary = Kept(_KEPT_V3), Kept(_KEPT_V3_BINARY)
        self._v2, self._v2_binary = Kept(_KEPT_V2), Kept(_KEPT_V2)

    async def v3(self, asker: Asker, resources: Resources, entry: str) -> Document:
        """``entry``: one of `entries`."""
        return await self._of_members(asker, members(resources, entry), entry)

    async def _of_members(self, asker: Asker, part: Resources, entry: str) -> Document:
        return await self._v3.get(
            asker, (entry, *map(identity, part)), lambda: build_v3(part, entry, self._version)
        )

    async def v3_binary(self, asker: Asker, resources: Resources, entry: str) -> Document:
        """In protobuf."""
        plain = await self.v3(asker, resources, entry)
        make = openapi_v3_pb.encode_document
        return await self._v3_binary.get(
            asker, plain.tag, lambda: Document(make(orjson.loads(plain.body)), plain.tag)
        )

    async def v2(
        self, asker: Asker, resources: Resources, others: Sequence[Swagger] = ()
    ) -> Document:
        """``others``: what other servers of the tenant add."""
        asked = tuple(resources)
        key = (tuple(map(identity, asked)), tuple(other.tag for other in others))
        return await self._v2.get(asker, key, lambda: build_v2(asked, self._version, others))

    async def v2_binary(
        self, asker: Asker, resources: Resources, others: Sequence[Swagger] = ()
    ) -> Document:
        """In protobuf."""
        plain = await self.v2(asker, resources, others)
        make = openapi_pb.encode_document
        return await self._v2_binary.get(
            asker, plain.tag, lambda: Document(make(orjson.loads(plain.body)), plain.tag)
        )

    async def index(
        self, asker: Asker, resources: Resources, prefix: str, elsewhere: Mapping[str, str]
    ) -> Document:
        """The list of version 3's documents. ``prefix``: what stands before /openapi/v3 in the
        tenant's URLs; ``elsewhere``: hashes of the entries of other servers."""
        paths = {}
        described, names = await beside(asker, lambda: (by_entry(resources), entries(resources)))
        for entry in names:
            document = await self._of_members(asker, described.get(entry, ()), entry)
            paths[entry] = {"serverRelativeURL": f"{prefix}/openapi/v3/{entry}?hash={document.tag}"}
        for entry, tag in elsewhere.items():
            hashed = f"?hash={quote(tag)}" if tag else ""
            paths[entry] = {"serverRelativeURL": f"{prefix}/openapi/v3/{entry}{hashed}"}
        return _encoded({"paths": paths})


__all__ = ["Document", "Documents", "build_v2", "build_v3", "entries", "members"]
