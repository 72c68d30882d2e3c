"""Lists of revisions: what was written, the newest first; or what there was as of a time.

A list is of one object, of one resource, or of all that the user may list. It never reads more than
a page, whatever the client asks for: `MOST` revisions, `MOST_BYTES` of objects, and `WINDOWS` parts
of the log where it looks for what is rare. A page may be empty and go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from apiserver.errors import BadRequest, Expired
from apiserver.golang.strconv import whole
from apiserver.golang.time import TimeError
from apiserver.history import pages
from apiserver.history.pages import Place
from apiserver.history.question import Question
from apiserver.history.revisions import revisions_of
from apiserver.history.visit import PastObject, Visit
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import format_micro_time, parse_time
from apiserver.registry.offload import by_size
from apiserver.registry.options import ListOptions
from apiserver.registry.translate import storage_errors
from apiserver.storage.errors import Compacted
from apiserver.storage.history import Version
from apiserver.storage.interface import ObjectKey

MOST = 500
MOST_BYTES = 8 * 2**20
WINDOWS = 5
_BATCH, _BATCHES, _BATCH_BYTES = 20, 200, 2**20
"""Objects of a past state that are read at a time, whose bytes are not known before: at first, at
most, and how many bytes they are to have if they are like those before."""
_NEWEST = 2**62


class Page(NamedTuple):
    """resource_version: of the list; token: of the next page, "" for none; size: bytes of the
    objects in it."""

    items: list[Object]
    resource_version: int
    token: str
    size: int


async def list_(visit: Visit, question: Question, options: ListOptions) -> Page:
    """Raises Forbidden, BadRequest, Expired, StorageError's Status errors."""
    token = options.continue_token
    place = pages.decode(visit, question, token) if token else Place()
    limit = min(options.limit or MOST, MOST)
    if question.as_of:
        return await _State(visit, question, limit).page(place)
    with storage_errors(visit.scope):
        head = await visit.registry.store.head(visit.scope.tenant.id)
    versions, next_ = await _written(visit, question, place.before or _NEWEST, limit)
    size = sum(len(v.record.data) for v in versions)
    seen = await by_size(
        visit.scope.asker(size), lambda: [(v, PastObject(_object(v))) for v in versions]
    )
    items = await revisions_of(visit, seen, whole=False)
    return Page(items, head, pages.encode(visit, question, Place(next_)) if next_ else "", 0)


async def _kinds(visit: Visit, question: Question) -> list[GroupResource]:
    """The resources of the list, by the names that they are stored under, in their order. Raises
    Forbidden."""
    namespace, catalog = visit.scope.namespace, visit.registry.catalog
    if question.resource is not None:
        await visit.must("list", question.resource, namespace, "")
        served = catalog.find(visit.scope.tenant, *question.resource)
        return [question.resource if served is None else served.storage]
    kinds: list[GroupResource] = []
    for resource in catalog.all(visit.scope.tenant):
        if _is_kept(resource) and resource.namespaced != visit.cluster:
            own = resource.group_resource
            if own == resource.storage and await visit.may("list", own, namespace):
                kinds.append(own)
    return sorted(kinds)


def _is_kept(resource: Resource) -> bool:
    return any("delete" in v.verbs for v in resource.versions.values() if v.served)


async def _one(visit: Visit, question: Question) -> ObjectKey | None:
    """The object that the list is of, if it names one. Raises Forbidden."""
    named = question.resource is not None and question.name
    if not named or not (visit.scope.namespace or visit.cluster):
        return None
    assert question.resource is not None
    await visit.must("get", question.resource, visit.scope.namespace, question.name)
    served = visit.registry.catalog.find(visit.scope.tenant, *question.resource)
    stored = question.resource if served is None else served.storage
    return ObjectKey(*stored, visit.scope.namespace, question.name)


def _matches(question: Question, versions: Sequence[Version]) -> list[Version]:
    labels = question.labels.matcher()
    return [
        v
        for v in versions
        if (not question.uid or v.record.uid == question.uid)
        and (not question.name or v.record.key.name == question.name)
        and (not question.type or v.type == question.type)
        and (question.labels.empty or labels(_labels(v)))
    ]


def _object(version: Version) -> Object:
    obj: Object = orjson.loads(version.record.json)
    return obj


def _labels(version: Version) -> dict[str, str]:
    labels: dict[str, str] = _object(version)["metadata"].get("labels") or {}
    return labels


# --- what was written -----------------------------------------------------------------------------
async def _written(
    visit: Visit, question: Question, before: int, limit: int
) -> tuple[list[Version], int]:
    """Versions, and below which one to go on, 0 at the end."""
    key, tenant = await _one(visit, question), visit.scope.tenant.id
    kinds = [] if key is not None else await _kinds(visit, question)
    if key is None and not kinds:
        return [], 0
    versions: list[Version] = []
    size = 0
    for _ in range(WINDOWS):
        with storage_errors(visit.scope):
            if key is not None:
                read, through = await visit.history.of_key(
                    tenant, key, before=before, limit=limit, max_bytes=MOST_BYTES
                )
            else:
                read, through = await visit.history.latest(
                    tenant,
                    kinds,
                    visit.scope.namespace,
                    cluster=visit.cluster,
                    before=before,
                    limit=limit,
                    max_bytes=MOST_BYTES,
                    type_=question.type,
                    name=question.name,
                    uid=question.uid,
                )
        size += sum(len(v.record.data) for v in read)
        asker = visit.scope.asker(size)
        versions += await by_size(asker, lambda read=read: _matches(question, read))  # type: ignore[misc]
        before = through
        if not before or len(versions) >= limit or size >= MOST_BYTES:
            break
    if len(versions) > limit:
        return versions[:limit], versions[limit - 1].number
    return versions, before


# --- what there was -------------------------------------------------------------------------------
class _State:
    """Of one request: the objects as of a version, resource by resource."""

    def __init__(self, visit: Visit, question: Question, limit: int) -> None:
        self._visit, self._question, self._limit = visit, question, limit
        self._matching: list[Version] = []
        self._size = 0
        self._at_once = _BATCH

    async def page(self, place: Place) -> Page:
        visit, question = self._visit, self._question
        key = await _one(visit, question)
        kinds = [] if key is not None else await _kinds(visit, question)
        at = place.at or await self._version()
        with storage_errors(visit.scope, requested=at):
            if key is not None:
                await self._object(key, at)
                next_ = None
            else:
                next_ = await self._objects(kinds, at, place)
        past = [(v, await visit.object_at(v, question.api_version)) for v in self._matching]
        items = await revisions_of(visit, past, whole=True)
        token = pages.encode(visit, question, next_) if next_ else ""
        return Page(items, at, token, self._size)

    async def _version(self) -> int:
        """Raises BadRequest, Expired."""
        text, tenant = self._question.as_of, self._visit.scope.tenant.id
        if text.isascii() and text.isdigit() and 0 < (number := whole(text)) < _NEWEST:
            return number
        try:
            moment = parse_time(text)
        except TimeError as error:
            raise BadRequest(f"asOf is a time or a resourceVersion: {error}") from None
        with storage_errors(self._visit.scope, passing=(Compacted,)):
            try:
                return await self._visit.history.at(tenant, moment)
            except Compacted:
                raise Expired(await self._begins(text)) from None

    async def _begins(self, text: str) -> str:
        begins = (await self._visit.history.reach(self._visit.scope.tenant.id)).begins
        told = "" if begins is None else f": it reaches back to {format_micro_time(begins)}"
        return f"the retained history begins after {text}{told}"

    async def _object(self, key: ObjectKey, at: int) -> None:
        tenant, store = self._visit.scope.tenant.id, self._visit.registry.store
        await store.list(tenant, _NOWHERE, at=at, limit=1)  # whether that state can be read
        versions, _ = await self._visit.history.of_key(
            tenant, key, before=at + 1, limit=1, max_bytes=1
        )
        there = [v for v in versions if v.type != "DELETED"]
        self._matching = _matches(self._question, there)

    async def _objects(self, kinds: Sequence[GroupResource], at: int, place: Place) -> Place | None:
        """Where to go on, None at the end."""
        ahead, after = list(kinds), None
        if place.at:
            begun = GroupResource(place.group, place.resource)
            ahead = [kind for kind in ahead if kind >= begun]  # it may be hidden by now, or gone
            after = (place.namespace, place.name) if place.name and begun in ahead else None
        for kind in ahead:
            while True:
                page, more = await self._batch(kind, at, after)
                if page is not None:
                    after = page
                if self._full:
                    namespace, name = after or ("", "")
                    return Place(0, at, kind.group, kind.resource, namespace, name)
                if not more:
                    break
            after = None
        return None

    @property
    def _full(self) -> bool:
        return len(self._matching) >= self._limit or self._size >= MOST_BYTES

    async def _batch(
        self, kind: GroupResource, at: int, after: tuple[str, str] | None
    ) -> tuple[tuple[str, str] | None, bool]:
        """The last object that was looked at, and whether there are more."""
        visit, tenant = self._visit, self._visit.scope.tenant.id
        limit = min(self._limit - len(self._matching), self._at_once)
        page = await visit.registry.store.list(
            tenant, kind, namespace=visit.scope.namespace, at=at, after=after, limit=limit
        )
        if not page.records:
            return None, False
        numbers = [record.resource_version for record in page.records]
        versions = {v.number: v for v in await visit.history.get(tenant, numbers)}
        if len(versions) < len(numbers):
            raise Expired(f"the log was compacted above version {at} a moment ago")
        there = [versions[number] for number in numbers]
        size = sum(len(v.record.data) for v in there)
        self._at_once = min(max(_BATCH_BYTES * len(there) // max(size, 1), 1), _BATCHES)
        self._size += size
        asker = visit.scope.asker(size)
        self._matching += await by_size(asker, lambda: _matches(self._question, there))
        last = page.records[-1].key
        return (last.namespace, last.name), page.more


_NOWHERE = GroupResource("history.polyplane.dev", "revisions")
