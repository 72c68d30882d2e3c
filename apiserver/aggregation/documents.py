"""What the servers behind this one say that they serve, for discovery and for the index of OpenAPI
documents.

It is asked for in the background (`apiserver.controllers.aggregation`), never in somebody's
request: a server that is dead or slow leaves what it said last, marked stale. What comes is taken
apart and put together from the members that are known, so that nothing odd gets into a tenant's
documents.
Source: k8s.io/kube-aggregator ``apiserver/handler_discovery.go``.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

import orjson

from admission.attributes import Lookup
from apiserver.aggregation import swagger
from apiserver.aggregation.backends import Backend, Of
from apiserver.aggregation.fetch import Fetched, fetch
from apiserver.aggregation.swagger import Swagger
from apiserver.aggregation.transport import Transport, Unreachable
from apiserver.errors import ApiError
from apiserver.meta.gvk import GroupVersion
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.scope import Tenant

Document = dict[str, Any]
T = TypeVar("T")
_JSON = "application/json"
_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;q=0.9"
)
_AT_ONCE = 4
"""Servers of one tenant that are asked at a time."""
_MOST = 1000
"""Resources of one version, and subresources of one of them."""
MOST_ROWS, MOST_BYTES = 5_000, 2 * 1024 * 1024
"""Resources and subresources, and their JSON, of all versions of one tenant: they stay in
memory."""
_HASH = 256
"""Characters of the hash of a document."""
_LARGE = 16 * 1024
"""Bytes of an answer that are taken apart on the loop: of many small parts it takes longest."""


@dataclass(frozen=True, slots=True)
class Served:
    """One version of a group, as its server describes it. resources: as aggregated discovery lists
    them; openapi: the hash of its OpenAPI document, None where there is none; current: whether the
    server has said so the last time that it was asked; rows, size: of the resources, the
    subresources among them, and bytes of JSON."""

    resources: tuple[Document, ...] = ()
    openapi: str | None = None
    current: bool = False
    rows: int = 0
    size: int = 0


@dataclass(slots=True)
class _Room:
    """What the servers of one tenant may still say. rows; size: bytes."""

    rows: int
    size: int

    def take(self, served: Served) -> Served:
        """Without its resources where they are too many."""
        if served.rows > self.rows or served.size > self.size:
            return Served((), served.openapi, served.current)
        self.rows -= served.rows
        self.size -= served.size
        return served


class NoDocument(Unreachable):
    """The server answers, but not with what it was asked for."""


class Listed(NamedTuple):
    """One version for discovery. priority: of its group, the highest first."""

    group_version: GroupVersion
    priority: int
    served: Served


_Where = tuple[str, str, int]


class Documents:
    """Of one process. Tenants whose caches are dropped are forgotten."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._served: dict[int, dict[GroupVersion, Served]] = {}
        self._swagger: dict[int, dict[_Where, swagger.Kept]] = {}

    def forget(self, tenant: int) -> None:
        self._served.pop(tenant, None)
        self._swagger.pop(tenant, None)

    def of(self, tenant: int, backends: Of) -> list[Listed]:
        """What is known of each of ``backends``; of one that has not been asked yet, that it is
        there."""
        served = self._served.get(tenant, {})
        listed = [
            Listed(gv, backend.group_priority, served.get(gv, Served()))
            for gv, backend in backends.items()
        ]
        return sorted(listed, key=lambda one: (-one.priority, one.group_version))

    def swaggers(self, tenant: int, listed: Iterable[Listed]) -> tuple[Swagger, ...]:
        """What is known of version 2 of OpenAPI, of ``listed``, in their order."""
        kept = self._swagger.get(tenant, {}).values()
        parts = {gv: part for one in kept for gv, part in one.parts.items()}
        return tuple(parts[one.group_version] for one in listed if one.group_version in parts)

    async def refresh(self, tenant: Tenant, lookup: Lookup, backends: Of) -> None:
        """Asks the servers of ``backends``, each once."""
        of_server: dict[_Where, list[Backend]] = {}
        for backend in (b for b in backends.values() if not b.excess):
            where = (backend.namespace, backend.service, backend.port)
            of_server.setdefault(where, []).append(backend)
        await self._refresh_served(tenant, lookup, of_server)
        await self._refresh_swagger(tenant, lookup, of_server)

    async def _refresh_swagger(
        self, tenant: Tenant, lookup: Lookup, of_server: Mapping[_Where, list[Backend]]
    ) -> None:
        """Of a server that cannot be asked, what it said last stays."""
        before, turn = self._swagger.get(tenant.id, {}), asyncio.Semaphore(_AT_ONCE)

        async def ask(where: _Where, backends: list[Backend]) -> swagger.Kept:
            kept = before.get(where, swagger.Kept())
            if not self._is_current(tenant, backends):
                return kept
            async with turn:
                with suppress(Unreachable, ApiError):
                    return await self._described(tenant, lookup, backends, kept)
            return kept

        asked = await asyncio.gather(*(ask(where, of) for where, of in of_server.items()))
        now, room = dict[_Where, swagger.Kept](), swagger.MOST_KEPT
        for where, kept in zip(of_server, asked, strict=True):
            size = sum(len(part.body) for part in kept.parts.values())
            if size <= room:
                now[where] = kept
                room -= size
        self._swagger[tenant.id] = now

    def _is_current(self, tenant: Tenant, backends: list[Backend]) -> bool:
        """Whether the server has just answered."""
        served = self._served.get(tenant.id, {})
        return any(b.group_version in served and served[b.group_version].current for b in backends)

    async def _described(
        self, tenant: Tenant, lookup: Lookup, backends: list[Backend], kept: swagger.Kept
    ) -> swagger.Kept:
        """What a server says now in OpenAPI of version 2. Raises Unreachable, ApiError."""
        versions = frozenset(backend.group_version for backend in backends)
        fetched = await fetch(
            self._transport,
            tenant,
            lookup,
            backends[0],
            "/openapi/v2",
            _JSON,
            cached_etag=kept.etag if versions == kept.versions else "",
            most=swagger.MOST_FETCHED,
        )
        if fetched.status == 304:
            return kept
        digest = hashlib.sha256(fetched.body).digest()
        if (digest, versions) == (kept.digest, kept.versions):
            return kept
        asker = Asker(tenant, len(fetched.body))
        parts = await by_size(asker, lambda: swagger.read(_parsed(fetched), versions), _LARGE)
        etag = fetched.etag if len(fetched.etag) <= _HASH else ""
        return swagger.Kept(etag, digest, versions, parts)

    async def _refresh_served(
        self, tenant: Tenant, lookup: Lookup, of_server: Mapping[_Where, list[Backend]]
    ) -> None:
        turn, room = asyncio.Semaphore(_AT_ONCE), _Room(MOST_ROWS, MOST_BYTES)
        answers = await asyncio.gather(
            *(self._ask(turn, room, tenant, lookup, of) for of in of_server.values())
        )
        before = self._served.get(tenant.id, {})
        now: dict[GroupVersion, Served] = {}
        for answer in answers:
            for gv, served in answer.items():
                old = before.get(gv, Served())
                now[gv] = served or room.take(replace(old, current=False))
        self._served[tenant.id] = now

    async def _ask(
        self,
        turn: asyncio.Semaphore,
        room: _Room,
        tenant: Tenant,
        lookup: Lookup,
        backends: list[Backend],
    ) -> Mapping[GroupVersion, Served | None]:
        """None: it could not be asked."""

        async def get(path: str, accept: str, read: Callable[[Any], T]) -> T:
            fetched = await fetch(self._transport, tenant, lookup, backends[0], path, accept)
            asker = Asker(tenant, len(fetched.body))
            return await by_size(asker, lambda: read(_parsed(fetched)), _LARGE)

        async def describe() -> dict[GroupVersion, Served]:
            all_of_them = None
            with suppress(NoDocument):
                all_of_them = await get("/apis", _AGGREGATED, lambda d: _aggregated(d, versions))
            if all_of_them is None:
                return {
                    gv: room.take(await get(path, _JSON, partial(_from_list, gv=gv)))
                    for gv, path in ((b.group_version, b.path) for b in backends)
                }
            return {gv: room.take(served) for gv, served in all_of_them.items()}

        versions = frozenset(backend.group_version for backend in backends)
        async with turn:
            try:
                described = await describe()
            except Unreachable:
                return dict.fromkeys(versions)
            try:
                hashes = await get("/openapi/v3", _JSON, lambda d: _hashes(d, versions))
            except Unreachable:
                hashes = {}
        return {
            gv: replace(described.get(gv, Served()), openapi=hashes.get(gv), current=True)
            for gv in versions
        }


def _parsed(fetched: Fetched) -> Any:
    """Raises NoDocument."""
    if fetched.status != 200:
        raise NoDocument(f"bad status: {fetched.status}")
    try:
        return orjson.loads(fetched.body)
    except orjson.JSONDecodeError:
        raise NoDocument("no JSON") from None


def _aggregated(
    document: Any, versions: Collection[GroupVersion]
) -> dict[GroupVersion, Served] | None:
    """Of ``versions``. None for any other document than aggregated discovery."""
    if not isinstance(document, dict) or document.get("kind") != "APIGroupDiscoveryList":
        return None
    return {
        gv: _served(_resource(row) for row in _rows(version, "resources") if _text(row, "resource"))
        for group in _rows(document, "items")
        for version in _rows(group, "versions")
        if (gv := _group_version(group, version)) in versions
    }


def _group_version(group: Document, version: Document) -> GroupVersion:
    return GroupVersion(_text(_dict(group.get("metadata")), "name"), _text(version, "version"))


def _served(resources: Iterable[Document]) -> Served:
    """Ends where it is more than a tenant may have in all, which nothing keeps."""
    taken: list[Document] = []
    rows = 0
    for resource in resources:
        taken.append(resource)
        rows += 1 + len(resource.get("subresources", ()))
        if rows > MOST_ROWS:
            return Served(rows=rows)
    return Served(tuple(taken), rows=rows, size=len(orjson.dumps(taken)))


def _resource(row: Document) -> Document:
    out: Document = {
        "resource": _text(row, "resource"),
        "responseKind": _kind(row),
        "scope": "Namespaced" if row.get("scope") == "Namespaced" else "Cluster",
        "singularResource": _text(row, "singularResource"),
        "verbs": _texts(row, "verbs"),
    }
    for member in ("shortNames", "categories"):
        if texts := _texts(row, member):
            out[member] = texts
    subresources = [
        {
            "subresource": _text(s, "subresource"),
            "responseKind": _kind(s),
            "verbs": _texts(s, "verbs"),
        }
        for s in _rows(row, "subresources")
        if _text(s, "subresource")
    ]
    return {**out, "subresources": subresources} if subresources else out


def _from_list(document: Any, gv: GroupVersion) -> Served:
    """From an APIResourceList."""
    resources: dict[str, Document] = {}
    rows = _rows(_dict(document), "resources")
    for row in sorted(rows, key=lambda row: "/" in _text(row, "name")):
        name, slash, subresource = _text(row, "name").partition("/")
        if not name or (slash and not subresource):
            continue
        kind = {
            "group": _text(row, "group") or gv.group,
            "version": _text(row, "version") or gv.version,
            "kind": _text(row, "kind"),
        }
        if not slash:
            wide = {**row, "resource": name, "singularResource": _text(row, "singularName")}
            wide["scope"] = "Namespaced" if row.get("namespaced") is True else "Cluster"
            resources[name] = _resource({**wide, "responseKind": kind, "subresources": None})
        elif name in resources:
            resources[name].setdefault("subresources", []).append(
                {"subresource": subresource, "responseKind": kind, "verbs": _texts(row, "verbs")}
            )
    return _served(resources.values())


def _hashes(document: Any, versions: Iterable[GroupVersion]) -> dict[GroupVersion, str]:
    """Of an index of OpenAPI documents: the hashes in the addresses of ``versions``."""
    paths = _dict(_dict(document).get("paths"))
    return {
        gv: _hash(_text(where, "serverRelativeURL"))
        for gv in versions
        if isinstance(where := paths.get(f"apis/{gv.group}/{gv.version}"), dict)
    }


def _hash(address: str) -> str:
    try:
        return "".join(parse_qs(urlsplit(address).query).get("hash", []))[:_HASH]
    except ValueError:  # no address
        return ""


def _kind(row: Document) -> Document:
    kind = _dict(row.get("responseKind"))
    return {member: _text(kind, member) for member in ("group", "version", "kind")}


def _dict(value: Any) -> Document:
    return value if isinstance(value, dict) else {}


def _text(row: Document, member: str) -> str:
    value = row.get(member)
    return value if isinstance(value, str) else ""


def _texts(row: Document, member: str) -> list[str]:
    values = row.get(member)
    return [v for v in values[:_MOST] if isinstance(v, str)] if isinstance(values, list) else []


def _rows(row: Document, member: str) -> Iterable[Document]:
    values = row.get(member)
    return [v for v in values[:_MOST] if isinstance(v, dict)] if isinstance(values, list) else []
