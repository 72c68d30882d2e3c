"""A search: through the candidates that the index finds, in the order of their keys, until an
answer is full.

Bounded by `Question.limit`, by `BATCH` objects and `MOST_BYTES` of them at a time, and by `SECONDS`
for one answer, which then says where to go on. Objects are looked at beside the event loop, in the
tenant's turn.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import orjson

from apiserver.authz.attributes import Attributes, Decision
from apiserver.errors import Invalid
from apiserver.fielderrors import not_found
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.offload import by_size
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.translate import storage_errors
from apiserver.search.pages import Place, Tokens
from apiserver.search.question import KIND, SPEC, Question
from apiserver.search.rights import Permitted, Rights, is_meant, listable
from apiserver.search.terms import query
from apiserver.search.words import Match
from apiserver.storage.interface import ObjectKey, Record, stored_api_version
from apiserver.storage.search import BEGINNING, Found

Hit = tuple[Record, Object, Sequence[Match]]

BATCH = 100
MOST_BYTES = 4 * 2**20
SECONDS = 5.0

_BEHIND = "what was written lately is not indexed yet: some of it may be missing"
_SLOW = "it took too long: name kinds, namespaces or a longer text"
_PLACES = "you may list in parts of very many namespaces: name those that are meant"


@dataclass(slots=True)
class Searching:
    """One request. authorize: in a tenant; enter: makes a tenant's definitions known; fresh: the
    same, not older than the call; until: monotonic time."""

    registry: Registry
    scope: Scope
    question: Question
    authorize: Callable[[Tenant, Attributes], Awaitable[Decision]]
    enter: Callable[[Tenant], Awaitable[None]]
    fresh: Callable[[Tenant], Awaitable[None]]
    items: list[Object] = field(default_factory=list)
    why: dict[str, None] = field(default_factory=dict)
    until: float = field(default_factory=lambda: time.monotonic() + SECONDS)

    async def within(self, tenant: Tenant) -> Object:
        """The status of a search in the tenant that is asked. Raises Invalid for kinds that are not
        there, BadRequest."""
        await self._check_kinds(tenant)
        token = self.question.token
        after = self._tokens.decode(token).key if token else BEGINNING
        return self._status(await self._through(tenant, "", after))

    async def across(self, tenants: Callable[[str], AsyncIterator[Tenant]]) -> Object:
        """The status of a search in several tenants. ``tenants``: in order, from a name on. Raises
        BadRequest."""
        token = self.question.token
        begin = self._tokens.decode(token) if token else Place("", ObjectKey(*BEGINNING))
        async for tenant in tenants(begin.tenant):
            after = begin.key if tenant.name == begin.tenant else BEGINNING
            if time.monotonic() > self.until:
                return self._status(Place(tenant.name, ObjectKey(*after)))
            if (place := await self._through(tenant, tenant.name, after)) is not None:
                return self._status(place)
        return self._status(None)

    @property
    def _tokens(self) -> Tokens:
        return Tokens(self.registry.sign, self.scope.tenant.id, self.question)

    def _status(self, place: Place | None) -> Object:
        status: Object = {"items": self.items}
        if place is not None:
            status["continue"] = self._tokens.encode(place)
        if self.why:
            status |= {"incomplete": True, "why": "; ".join(self.why)}
        return status

    # --- what to look at --------------------------------------------------------------------------
    async def _check_kinds(self, tenant: Tenant) -> None:
        """Raises Invalid."""
        if unknown := self._unknown(tenant):
            await self.fresh(tenant)
            unknown = self._unknown(tenant)
        if unknown:
            path = SPEC.child("kinds")
            raise Invalid(KIND, "", [not_found(path.at(i), name) for i, name in unknown])

    def _unknown(self, tenant: Tenant) -> list[tuple[int, str]]:
        resources = self.registry.catalog.all(tenant)
        named = enumerate(self.question.kinds)
        return [(i, name) for i, name in named if not any(is_meant(r, name) for r in resources)]

    def _served(self, tenant: Tenant) -> dict[GroupResource, list[Resource]]:
        kinds = self.question.kinds
        served: dict[GroupResource, list[Resource]] = {}
        for resource in self.registry.catalog.all(tenant):
            if any(listable(resource)) and (not kinds or any(is_meant(resource, k) for k in kinds)):
                served.setdefault(resource.storage, []).append(resource)
        return served

    async def _permitted(self, tenant: Tenant) -> Permitted:
        search = self.registry.store.search
        stored = await search.kinds(tenant.id)
        if not stored:  # and so nobody has set it up, which a search is no reason for
            return Permitted()
        await self.enter(tenant)

        async def authorize(attributes: Attributes) -> Decision:
            return await self.authorize(tenant, attributes)

        user, served = self.scope.user, self._served(tenant)
        return await Rights(user, authorize, search, tenant.id, served).permitted(
            stored, self.question
        )

    # --- looking ----------------------------------------------------------------------------------
    async def _through(
        self, tenant: Tenant, shown_as: str, after: tuple[str, str, str, str]
    ) -> Place | None:
        """Where to go on, None at the end. ``shown_as``: the tenant's name in items, "" for
        none."""
        with storage_errors(self.scope):
            permitted = await self._permitted(tenant)
            if not permitted.complete:
                self.why[_PLACES] = None
            if permitted.where.nowhere:
                return None
            asked = self.question
            words = query(tenant.id, asked.needle, asked.areas, permitted.where)
            while True:
                found = await self.registry.store.search.find(
                    tenant.id,
                    words,
                    permitted.where,
                    after,
                    limit=BATCH,
                    max_bytes=MOST_BYTES,
                )
                if found is None:
                    self.why[_SLOW] = None
                    return None
                if found.behind:
                    self.why[_BEHIND] = None
                place = await self._take(found, permitted, Place(shown_as, ObjectKey(*after)))
                if place is not None or found.through is None:
                    return place
                after = found.through
                if time.monotonic() > self.until:
                    return Place(shown_as, found.through)

    async def _take(self, found: Found, permitted: Permitted, before: Place) -> Place | None:
        """Behind which object to go on, where the answer is full and there are more. ``before``:
        behind which these were looked for."""
        room = self.question.limit - len(self.items)
        asker = self.scope.asker(sum(len(record.data) for record in found.records))
        hits = await by_size(asker, lambda: self._hits(found.records, room + 1))
        for record, obj, matches in hits[:room]:
            resource = permitted.resource(record.key.group_resource, record.key.namespace)
            self.items.append(_item(record, obj, matches, resource, before.tenant))
        if len(hits) <= room:
            return None
        return before._replace(key=hits[room - 1][0].key) if room else before

    def _hits(self, records: Sequence[Record], most: int) -> list[Hit]:
        needle, areas = self.question.needle, self.question.areas
        hits: list[Hit] = []
        for record in records:
            obj = orjson.loads(record.data)
            if matches := needle.matches(record.key.group_resource, obj, areas):
                hits.append((record, obj, matches))
                if len(hits) == most:
                    break
        return hits


def _item(
    record: Record, obj: Object, matches: Sequence[Match], resource: Resource, tenant: str
) -> Object:
    """As the resource that the user may list; in the version that it is stored in, if that can be
    listed."""
    stored = GroupVersion.parse(stored_api_version(record.data)).version
    versions = [*listable(resource)]
    version = stored if stored in versions else versions[0]
    shown = {
        "tenant": tenant,
        "apiVersion": str(GroupVersion(resource.group, version)),
        "kind": resource.kind,
        "resource": resource.resource,
        "namespace": record.key.namespace,
        "name": record.key.name,
        "uid": record.uid,
        "deletionTimestamp": obj["metadata"].get("deletionTimestamp"),
        "matches": [{"in": m.area, "path": m.path, "excerpt": m.excerpt} for m in matches],
    }
    return {name: value for name, value in shown.items() if value}
