"""An ObjectCount: how many objects there are of each resource, of those that may be listed.

The question that is asked of each resource is its list's own, in the namespace or in all. Numbers
come from the tallies (`apiserver.storage.tally`) in one query, whatever is asked for: so they are
of one state, and cost the same however many objects there are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from apiserver.authz.attributes import Attributes, Decision
from apiserver.errors import Invalid
from apiserver.fielderrors import (
    FieldError,
    FieldPath,
    forbidden,
    invalid,
    not_found,
    required,
    too_many,
)
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupKind, GroupResource
from apiserver.meta.names import dns1123_label
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.translate import storage_errors
from apiserver.search.rights import listable
from apiserver.storage.tally import NONE
from apiserver.whose import takes_turn

KIND = GroupKind("search.polyplane.dev", "ObjectCount")
MOST_NAMED = 1_000
"""Resources that one question names."""
_STEP = 20
"""Resources between two turns of others."""
_SPEC = FieldPath("spec")
_RESOURCES = _SPEC.child("resources")
_NOT_STORED = "its objects are no stored ones, or cannot be listed: they are not counted"


class Wanted(NamedTuple):
    """namespace: "" for all; resources: as they were named; empty for all."""

    namespace: str
    resources: Sequence[GroupResource]


def asked(review: Object) -> Wanted:
    """What an ObjectCount asks. Raises Invalid."""
    spec = review.get("spec") or {}
    namespace, named = spec.get("namespace") or "", spec.get("resources") or ()
    errors: list[FieldError] = []
    if namespace:
        path = _SPEC.child("namespace")
        errors += (invalid(path, namespace, why) for why in dns1123_label(namespace))
    if len(named) > MOST_NAMED:
        errors.append(too_many(_RESOURCES, len(named), MOST_NAMED))
    for i, each in enumerate(named[:MOST_NAMED]):
        if not (each or {}).get("resource"):
            errors.append(required(_RESOURCES.at(i).child("resource")))
    if errors:
        raise Invalid(KIND, "", errors)
    names = (GroupResource(each.get("group") or "", each["resource"]) for each in named)
    return Wanted(namespace, list(names))


class Counting(NamedTuple):
    """One request. fresh: makes the tenant's definitions known, not older than the call."""

    registry: Registry
    scope: Scope
    authorize: Callable[[Attributes], Awaitable[Decision]]
    fresh: Callable[[Tenant], Awaitable[None]]

    async def status(self, wanted: Wanted) -> Object:
        """Raises Invalid for resources that are not there, or are not counted."""
        shown, hidden = list[tuple[Resource, str]](), list[Resource]()
        for number, resource in enumerate(await self._meant(wanted), 1):
            namespace = wanted.namespace if resource.namespaced else ""
            if await self._may_list(resource, namespace):
                shown.append((resource, namespace))
            else:
                hidden.append(resource)
            if number % _STEP == 0:
                await takes_turn()
        status: Object = {}
        if shown:
            status["counts"] = await self._counts(shown, wanted.namespace)
        if hidden:
            status["hidden"] = [_named(resource) for resource in hidden]
        return status

    # --- what is meant ----------------------------------------------------------------------------
    async def _meant(self, wanted: Wanted) -> Sequence[Resource]:
        """By group and resource, each once."""
        if not wanted.resources:
            return _sorted(r for r in self._served if self._is_counted(r))
        tenant, known = self.scope.tenant, {r.group_resource: r for r in self._served}
        if not known.keys() >= set(wanted.resources):
            await self.fresh(tenant)
            known = {r.group_resource: r for r in self._served}
        errors: list[FieldError] = []
        for i, name in enumerate(wanted.resources):
            if name not in known:
                errors.append(not_found(_RESOURCES.at(i), str(name)))
            elif not self._is_counted(known[name]):
                errors.append(forbidden(_RESOURCES.at(i), _NOT_STORED))
        if errors:
            raise Invalid(KIND, "", errors)
        return _sorted({known[name] for name in wanted.resources})

    @property
    def _served(self) -> Sequence[Resource]:
        return self.registry.catalog.all(self.scope.tenant)

    def _is_counted(self, resource: Resource) -> bool:
        """Whether there is a list of it that shows what is stored: what is made up for each answer
        (ComponentStatuses, Revisions) cannot be watched."""
        return not resource.answers and any(
            "watch" in resource.versions[version].verbs for version in listable(resource)
        )

    # --- answering --------------------------------------------------------------------------------
    async def _may_list(self, resource: Resource, namespace: str) -> bool:
        version = next(listable(resource))
        question = Attributes(
            self.scope.user, "list", resource.group, version, resource.resource, "", namespace
        )
        return (await self.authorize(question)).allowed

    async def _counts(self, shown: Sequence[tuple[Resource, str]], namespace: str) -> list[Object]:
        with storage_errors(self.scope):
            tallies = await self.registry.store.tallies.of(self.scope.tenant.id, namespace)
        counts = []
        for resource, place in shown:
            number = tallies.get(resource.storage, NONE)
            within = {"namespace": place} if place else {}
            count = number.within if place else number.whole
            counts.append({**_named(resource), **within, "count": count})
        return counts


def _sorted(resources: Iterable[Resource]) -> Sequence[Resource]:
    return sorted(resources, key=lambda resource: resource.group_resource)


def _named(resource: Resource) -> Object:
    group = {"group": resource.group} if resource.group else {}
    return {**group, "resource": resource.resource}
