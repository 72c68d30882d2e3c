"""One request's way to the past: what its user may see of it, and objects in the version that the
request wants.

Who may read an object now may read its past, and nobody else: a right to revisions alone shows
nothing. Who wrote a revision is shown to those who may get ``revisions/audit``, which no request
serves: it is there to be granted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apiserver.authz.attributes import Attributes, Authorize, forbidden
from apiserver.errors import BadRequest, NotFound
from apiserver.golang.strconv import whole
from apiserver.kinds.apiextensions.conversion import ConversionFailed
from apiserver.kinds.served import Resource, ServedVersion
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.core import Registry
from apiserver.registry.offload import LARGE_WITH_RULES, Asker, by_size
from apiserver.registry.scope import Scope
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import load
from apiserver.storage.history import History, Version
from apiserver.storage.interface import stored_api_version

AUDIT = "audit"
_NAMED = 10
"""Fields that a message names."""
_MOST_VERSION = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PastObject:
    """An object as it was. message: why it is not as it was asked for."""

    object: Object
    message: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """scope: of the request itself, whose resource is one of revisions; fresh: to be awaited before
    a definition is said not to be there."""

    registry: Registry
    scope: Scope
    authorize: Authorize
    fresh: Callable[[], Awaitable[None]]

    @property
    def history(self) -> History:
        return self.registry.store.history

    @property
    def cluster(self) -> bool:
        """Whether it is about objects that are in no namespace."""
        return not self.scope.resource.namespaced

    # --- rights -----------------------------------------------------------------------------------
    def question(self, verb: str, resource: GroupResource, namespace: str, name: str) -> Attributes:
        """As if the object itself were asked for: who asks for a namespace by its name asks within
        it."""
        if resource == GroupResource("", "namespaces") and name:
            namespace = name
        return Attributes(
            self.scope.user, verb, resource.group, "*", resource.resource, "", namespace, name
        )

    async def may(self, verb: str, resource: GroupResource, namespace: str, name: str = "") -> bool:
        return (await self.authorize(self.question(verb, resource, namespace, name))).allowed

    async def must(self, verb: str, resource: GroupResource, namespace: str, name: str) -> None:
        """Raises Forbidden. That names the object, so ask only for users who may know of it."""
        asked = self.question(verb, resource, namespace, name)
        decision = await self.authorize(asked)
        if not decision.allowed:
            raise forbidden(asked, decision.reason)

    async def may_audit(self, namespace: str) -> bool:
        """Whether the user may be told who made revisions of the namespace."""
        own = self.scope.resource.group_resource
        asked = Attributes(
            self.scope.user, "get", own.group, self.scope.version, own.resource, AUDIT, namespace
        )
        return (await self.authorize(asked)).allowed

    # --- revisions --------------------------------------------------------------------------------
    async def revision(self, name: str) -> Version:
        """Raises NotFound, also for a revision of what the user may not get: that there is one
        would say what others do."""
        missing = NotFound(self.scope.resource.group_resource, name)
        if not name.isascii() or not name.isdigit() or (number := whole(name)) > _MOST_VERSION:
            raise missing
        with storage_errors(self.scope, name):
            versions = await self.history.get(self.scope.tenant.id, [number])
        if not versions or str(versions[0].number) != name:
            raise missing
        key = versions[0].record.key
        there = key.namespace == self.scope.namespace and bool(key.namespace) != self.cluster
        resource = self.resource_of(key.group_resource)
        named = key.group_resource if resource is None else resource.group_resource
        if not there or not await self.may("get", named, key.namespace, key.name):
            raise missing
        return versions[0]

    # --- objects ----------------------------------------------------------------------------------
    def resource_of(self, stored: GroupResource) -> Resource | None:
        """None where the definition is gone."""
        catalog = self.registry.catalog
        return catalog.stored(stored) or catalog.find(self.scope.tenant, *stored)

    async def scope_of(self, version: Version, api_version: str = "") -> Scope | None:
        """Of an object, in the version asked for, or else the one that it is stored in, or where
        that is not served any more the preferred one; None where its definition is gone. Raises
        BadRequest for a version that the kind is not served in."""
        key = version.record.key
        resource = self.resource_of(key.group_resource)
        if resource is None:
            await self.fresh()
            resource = self.resource_of(key.group_resource)
        if resource is None:
            return None
        served = _served(resource, version, api_version)
        if served.unprepared:
            scope = self.scope
            asker = Asker(scope.tenant, served.unprepared, scope.gone, place=scope.place)
            await by_size(asker, served.prepare, LARGE_WITH_RULES)
        return replace(
            self.scope,
            resource=resource,
            served=served,
            namespace=key.namespace,
            name=key.name,
            subresource="",
        )

    async def object_at(self, version: Version, api_version: str = "") -> PastObject:
        """The object as it was, converted; as it is stored where that cannot be done."""
        scope = await self.scope_of(version, api_version)
        if scope is None:
            text = f"the definition of {version.record.key.group_resource} is gone: as it is stored"
            return await self._as_stored(version, text)
        try:
            past = await load(self.registry, scope, version.record)
        except ConversionFailed as error:
            return await self._as_stored(version, f"as it is stored: {error.message}")
        gone = await self.pruned(scope, version, past)
        more = f" and {len(gone) - _NAMED} others" if len(gone) > _NAMED else ""
        text = f"its definition does not have {', '.join(gone[:_NAMED])}{more} any more"
        return PastObject(past, text if gone else "")

    async def pruned(self, scope: Scope, version: Version, shown: ReadOnlyObject) -> Sequence[str]:
        """Paths of what is stored, but not shown, because the definition does not have it any
        more. ``shown``: the object in the scope's version. What a webhook makes of an object tells
        nothing of that."""
        if scope.resource.has_go_type or scope.resource.webhook is not None:
            return ()
        data = version.record.json
        return await by_size(
            scope.asker(len(data)), lambda: sorted(_missing(orjson.loads(data), shown))
        )

    async def _as_stored(self, version: Version, why: str) -> PastObject:
        data = version.record.json
        return PastObject(
            await by_size(self.scope.asker(len(data)), lambda: orjson.loads(data)), why
        )

    async def living(self, uids: Sequence[str]) -> set[str]:
        """Those of the uids that belong to objects which are there, and not being deleted."""
        if not uids:
            return set()
        with storage_errors(self.scope):
            records = await self.registry.store.records(self.scope.tenant.id, uids)
        asker = self.scope.asker(sum(len(record.data) for record in records))
        owners: list[Any] = await by_size(
            asker, lambda: [orjson.loads(record.data)["metadata"] for record in records]
        )
        return {metadata["uid"] for metadata in owners if not metadata.get("deletionTimestamp")}


def _missing(stored: ReadOnlyObject, shown: ReadOnlyObject) -> Iterator[str]:
    """Members of the stored object that the one which is shown does not have, but for metadata;
    lists are the same in both."""
    ahead: list[tuple[str, Any, Any]] = [("", stored, shown)]
    while ahead:
        path, old, new = ahead.pop()
        if path == ".metadata":
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from (f"{path}.{name}" for name in old.keys() - new.keys())
            ahead += ((f"{path}.{n}", old[n], new[n]) for n in old.keys() & new.keys())
        elif isinstance(old, list) and isinstance(new, list):
            pairs = zip(old, new, strict=False)
            ahead += ((f"{path}[{i}]", a, b) for i, (a, b) in enumerate(pairs))


def _served(resource: Resource, version: Version, api_version: str) -> ServedVersion:
    """Raises BadRequest."""
    if not api_version:
        stored = GroupVersion.parse(stored_api_version(version.record.data)).version
        same = resource.versions.get(stored)
        if same is not None and same.served:
            return same
        return next(v for v in resource.versions.values() if v.served)
    try:
        asked = GroupVersion.parse(api_version)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    served = resource.versions.get(asked.version)
    if asked.group != resource.group or served is None or not served.served:
        text = f"{resource.group_resource} is not served in apiVersion {api_version}"
        raise BadRequest(text)
    return served
