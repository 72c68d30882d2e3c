"""Where whoever asks may list, of what there is.

The question is the list's own: of the resource in all namespaces, or else in one. A right to some
objects alone, by name or by selector, is no right to the list. Nothing of what is found is known
here, so what is hidden changes nothing of what is found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apiserver.authz.attributes import Attributes, Decision
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.search.question import Question
from apiserver.storage.search import Search, Where
from apiserver.user import User
from apiserver.whose import takes_turn

MOST_PLACES = 2_000
"""Resources in namespaces that are asked about one by one, for users who may not list in all."""
_STEP = 20
"""Questions between two turns of others."""

Authorize = Callable[[Attributes], Awaitable[Decision]]
_EVERYWHERE = ""


@dataclass(slots=True)
class Permitted:
    """where: to look. complete: all places were asked about."""

    where: Where = field(default_factory=lambda: Where([], []))
    complete: bool = True
    _as: dict[tuple[GroupResource, str], Resource] = field(default_factory=dict)

    def resource(self, stored: GroupResource, namespace: str) -> Resource:
        """As what the user may list objects there."""
        return self._as.get((stored, _EVERYWHERE)) or self._as[stored, namespace]

    def add(self, stored: GroupResource, namespace: str, resource: Resource) -> None:
        self._as[stored, namespace] = resource


@dataclass(slots=True)
class Rights:
    """Of one user in one tenant. served: what can be listed, by the names that objects are stored
    under; one object may be listed as several resources (Events)."""

    user: User
    authorize: Authorize
    search: Search
    tenant: int
    served: Mapping[GroupResource, Sequence[Resource]]
    asked: int = 0

    async def permitted(self, stored: Sequence[GroupResource], question: Question) -> Permitted:
        """``stored``: the resources that the tenant has objects of."""
        permitted = Permitted()
        whole, rest = list[GroupResource](), list[GroupResource]()
        for resource in stored:
            served = self.served.get(resource, ())
            if not served or (question.namespaces and not served[0].namespaced):
                continue
            if await self._may(permitted, resource, _EVERYWHERE):
                whole.append(resource)
            elif served[0].namespaced:
                rest.append(resource)
        places = await self._places(permitted, rest, question)
        if question.namespaces:
            places += ((r, n) for r in whole for n in question.namespaces)
            whole = []
        permitted.where = Where(whole, places, everything=len(whole) == len(stored))
        return permitted

    async def _places(
        self, permitted: Permitted, resources: Sequence[GroupResource], question: Question
    ) -> list[tuple[GroupResource, str]]:
        if question.namespaces:
            wanted = [(r, n) for r in resources for n in question.namespaces]
        else:
            wanted = [*await self.search.namespaces(self.tenant, resources, MOST_PLACES + 1)]
        permitted.complete = len(wanted) <= MOST_PLACES
        return [place for place in wanted[:MOST_PLACES] if await self._may(permitted, *place)]

    async def _may(self, permitted: Permitted, stored: GroupResource, namespace: str) -> bool:
        for resource in self.served[stored]:
            self.asked += 1
            if self.asked % _STEP == 0:
                await takes_turn()
            version = next(listable(resource))
            asked = Attributes(
                self.user, "list", resource.group, version, resource.resource, "", namespace
            )
            if (await self.authorize(asked)).allowed:
                permitted.add(stored, namespace, resource)
                return True
        return False


def listable(resource: Resource) -> Iterator[str]:
    """Versions in which the resource can be listed, the preferred one first."""
    return (v.version for v in resource.versions.values() if v.served and "list" in v.verbs)


def is_meant(resource: Resource, named: str) -> bool:
    """Whether a word means the resource, as kubectl takes it: ``deploy``, ``Deployment``,
    ``deployments.apps``."""
    plural, dot, group = named.lower().partition(".")
    names = (resource.resource, resource.singular, resource.kind.lower(), *resource.short_names)
    return plural in names and (not dot or group == resource.group)
