"""What admission and authorizers may ask of a tenant: objects, from its watch caches, kinds, and an
object in another version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import orjson

from admission.attributes import Equivalent, Served
from apiserver.authorizers.chain import Authority
from apiserver.authorizers.links import World
from apiserver.authz import attributes as authz
from apiserver.effort import spend
from apiserver.errors import NotFound
from apiserver.fieldmanager.types import Type, object_type
from apiserver.golang.json import type_name
from apiserver.kinds.served import Resource, names
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.labels import LabelSelector
from apiserver.meta.objects import Object
from apiserver.registry.conversion import Converter
from apiserver.registry.noderelations import NodeRelations
from apiserver.registry.offload import Asker, repeatable
from apiserver.registry.scope import Tenant
from apiserver.schema import builtin
from apiserver.schema.decode import DecodeError, decode
from apiserver.storage.interface import ObjectKey, Record, Store
from apiserver.watch.cache import Cache, Entries, decoded
from apiserver.watch.entry import Entry
from apiserver.watch.watches import Watches

T = TypeVar("T")

_LOOK = 10  # steps (`apiserver.effort`) for comparing one object's labels with a selector


class Catalog(Protocol):
    """The resources of one tenant: built-in ones and those of its CustomResourceDefinitions."""

    def find(self, tenant: Tenant, group: str, resource: str) -> Resource | None: ...

    def all(self, tenant: Tenant) -> Sequence[Resource]: ...

    def stored(self, resource: GroupResource) -> Resource | None: ...

    def sharing(self, storage: GroupResource) -> Sequence[Resource]: ...


class Parts(Protocol):
    """Of the registry."""

    store: Store
    watches: Watches
    catalog: Catalog
    authority: Authority
    converter: Converter
    node_relations: NodeRelations

    async def late(self, tenant: Tenant, key: ObjectKey) -> Record | None: ...


class CacheLookup:
    """admission.Lookup over the watch caches of one tenant. asker: for whom it does what may take
    long."""

    def __init__(self, registry: Parts, tenant: Tenant, asker: Asker | None) -> None:
        self._registry, self._tenant, self._asker = registry, tenant, asker

    async def decide(self, question: authz.Attributes) -> authz.Decision:
        return await self._registry.authority.authorize(World(*self._tenant, self), question)

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        if not fresh:
            cache = await self._cache(resource)
            entry = cache.get(ObjectKey(*resource, namespace, name))
            return None if entry is None else entry.shared
        key = ObjectKey(*resource, namespace, name)
        record = await self._registry.store.get(self._tenant.id, key)
        record = record or await self._registry.late(self._tenant, key)
        return None if record is None else orjson.loads(record.json)

    async def related(self, node: str, resource: GroupResource, namespace: str, name: str) -> bool:
        relations = self._registry.node_relations
        return await relations.related(self._tenant.id, node, resource, namespace, name)

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        cache = self._registry.watches.peek(self._tenant.id, resource)
        if cache is None:
            cache = await self._cache(resource)
        entries = cache.select(namespace)
        return entries.shared if entries.is_decoded else await decoded(entries)

    async def settled(self, resource: GroupResource, seconds: float) -> Sequence[Object]:
        cache = self._registry.watches.peek(self._tenant.id, resource)
        if cache is None:
            cache = await self._cache(resource)
        entries = cache.settled(seconds)
        return entries.shared if entries.is_decoded else await decoded(entries)

    async def first(
        self, resource: GroupResource, namespace: str, most: int
    ) -> tuple[Sequence[Object], int]:
        entries = (await self._cache(resource)).select(namespace)
        return await decoded(Entries(entries[:most])), len(entries)

    async def select(
        self, resource: GroupResource, namespace: str, selector: LabelSelector, most: int
    ) -> Sequence[Object]:
        cache = await self._cache(resource)
        entries, matches = cache.select(namespace), selector.matcher()

        def look() -> list[Entry]:
            selected = []
            for entry in entries:
                spend(_LOOK)
                if matches(entry.labels):
                    selected.append(entry)
                    if len(selected) == most:
                        break
            return selected

        return await decoded(Entries(await self.run(look)))

    async def _cache(self, resource: GroupResource) -> Cache:
        watches, tenant = self._registry.watches, self._tenant.id
        cache = watches.peek(tenant, resource)
        return await watches.cache(tenant, resource) if cache is None else cache

    def kind(self, kind: GroupVersionKind) -> Served | None:
        for resource in self._registry.catalog.all(self._tenant):
            version = resource.versions.get(kind.version)
            if version is not None and version.served and resource.gvk(kind.version) == kind:
                gvr = resource.gvr(kind.version)
                return Served(gvr, kind, resource.storage, resource.namespaced)
        return None

    def resources(self) -> Mapping[str, Sequence[str]]:
        return names(self._registry.catalog.all(self._tenant))

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        catalog = self._registry.catalog
        own = catalog.find(self._tenant, *resource.group_resource)
        if own is None:
            return ()
        others = [own] if own.definition else catalog.sharing(own.storage)
        return [
            Equivalent(other.gvr(version), kind)
            for other in others
            for version in other.versions
            if (kind := other.kind_at(version, subresource)) is not None
        ]

    async def convert(self, obj: Object, resource: GroupVersionResource, to: Equivalent) -> Object:
        if obj.get("apiVersion") == to.kind.api_version:
            return obj
        target, version = self._resource(to), to.resource.version
        (converted,) = await self._registry.converter.convert(
            self._tenant, self, target, [obj], version
        )
        converted["kind"] = to.kind.kind
        target.fit(converted, version)
        return converted

    def decode(self, obj: Object, to: Equivalent) -> tuple[Object, Sequence[str]]:
        target, version = self._resource(to), to.resource.version
        if not isinstance(obj, dict):  # a patch may make anything of it
            raise DecodeError(f"{type_name(obj)} is no {to.kind.kind}")
        if to.kind == target.gvk(version):
            value, unknown = target.decode(target.versions[version], obj)
            return value, unknown if target.has_go_type else ()
        decoded = decode(builtin.schema_for(to.kind), obj)
        value = decoded.value
        value.setdefault("metadata", {})
        value.update(kind=to.kind.kind, apiVersion=to.kind.api_version)
        return value, decoded.strict

    def type_of(self, to: Equivalent) -> Type:
        target, version = self._resource(to), to.resource.version
        own = to.kind == target.gvk(version)
        schema = target.versions[version].schema if own else builtin.schema_for(to.kind)
        return object_type(schema)

    async def run(self, work: Callable[[], T]) -> T:
        if self._asker is None:
            self._asker = Asker(self._tenant)
        return await repeatable(self._asker, work)

    def _resource(self, to: Equivalent) -> Resource:
        resource = self._registry.catalog.find(self._tenant, *to.resource.group_resource)
        if resource is None:
            raise NotFound(to.resource.group_resource, "")  # its definition went a moment ago
        return resource
