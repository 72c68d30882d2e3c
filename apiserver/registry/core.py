"""Registry: the parts that every operation works with, and what they share - reading, materializing
and encoding objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import orjson

from admission.attributes import Attributes, Equivalent, Operation, Served
from admission.chain import Chain
from admission.webhooks.client import WebhookClient
from apiserver.audit.policy import COMPLETE, Level
from apiserver.audit.recorder import Recorder, trail_of_server
from apiserver.audit.trail import MANAGER, ON_BEHALF, Trail
from apiserver.authorizers.chain import Authority
from apiserver.authorizers.links import World
from apiserver.authz import attributes as authz
from apiserver.effort import spend
from apiserver.errors import NotFound
from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.types import Type, object_type
from apiserver.golang.json import type_name
from apiserver.kinds.declarative.run import DEFAULT_GATES, Gates
from apiserver.kinds.served import Resource, names
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.labels import LabelSelector
from apiserver.meta.names import random_uid
from apiserver.meta.objects import Object
from apiserver.registry.bounds import RequestBounds
from apiserver.registry.conversion import Converter
from apiserver.registry.followups import (
    Follower,
    Protect,
    Recount,
    Supply,
    nobody_counts,
    nobody_protects,
)
from apiserver.registry.noderelations import NodeRelations
from apiserver.registry.offload import Asker, repeatable
from apiserver.registry.scope import Scope, Tenant
from apiserver.request import RequestInfo
from apiserver.schema import builtin
from apiserver.schema.decode import DecodeError, decode
from apiserver.storage.interface import QUIET, ObjectKey, Record, Store, Write
from apiserver.watch.cache import Cache, Entries, decoded
from apiserver.watch.entry import Entry, Index
from apiserver.watch.watches import Watches

T = TypeVar("T")


def _notes(scope: Scope) -> dict[str, str]:
    """Where admission's annotations go: to the request, or of a collection to each object's own
    entry."""
    if scope.trail is None or scope.trail.info.verb == "deletecollection":
        return {}
    return scope.trail.annotations


_NO_ANNOTATIONS: Mapping[str, str] = {}


class Item(Protocol):
    """One object of a list: a cache entry, or a record read from the log."""

    @property
    def json(self) -> bytes: ...


class State(Item, Protocol):
    """One object at one version: a storage Record or a cache's Entry."""

    @property
    def key(self) -> ObjectKey: ...
    @property
    def resource_version(self) -> int: ...


class Catalog(Protocol):
    """The resources of one tenant: built-in ones and those of its CustomResourceDefinitions."""

    def find(self, tenant: Tenant, group: str, resource: str) -> Resource | None: ...

    def all(self, tenant: Tenant) -> Sequence[Resource]: ...

    def stored(self, resource: GroupResource) -> Resource | None: ...

    def sharing(self, storage: GroupResource) -> Sequence[Resource]: ...


class Hook(Protocol):
    """What a kind needs of other objects around its writes (IP allocation ...). Raises ApiError to
    refuse."""

    async def before_write(
        self, registry: Registry, scope: Scope, obj: Object, old: Object | None, *, dry_run: bool
    ) -> str:
        """The uid of an object without which this one is not stored (Write.needs), "" for none:
        the write is then begun again."""

    def claims(self, obj: Object) -> tuple[str, ...]:
        """What the object holds and no other object of the tenant may hold (Write.claims). A write
        that finds something claimed by another is begun again: before_write then sees that other
        one."""


@dataclass(slots=True)
class Registry:
    """hooks: by storage GroupResource; manager: the FieldManager of a resource; sign: keyed hash of
    a message; index: labels and selectable fields of a stored object; gates: those of declarative
    validation; webhooks: who calls them; supplies: by storage GroupResource and name, who makes
    what every namespace has and a new one may not have yet; followers: by storage
    GroupResource, who does what comes with new claims; audit: what is kept of requests and
    writes; recount: who counts quotas; protect_ranges: of ServiceCIDRs; authority: who may what."""

    store: Store
    watches: Watches
    chain: Chain
    catalog: Catalog
    manager: Callable[[Resource], FieldManager]
    hooks: Mapping[GroupResource, Hook]
    sign: Callable[[bytes], bytes]
    index: Index
    gates: Gates = DEFAULT_GATES
    webhooks: WebhookClient = field(default_factory=WebhookClient)
    supplies: dict[tuple[GroupResource, str], Supply] = field(default_factory=dict)
    followers: dict[GroupResource, Follower] = field(default_factory=dict)
    audit: Recorder = field(default_factory=Recorder)
    recount: Recount = nobody_counts
    protect_ranges: Protect = nobody_protects
    authority: Authority = field(default_factory=Authority)
    converter: Converter = field(init=False)
    node_relations: NodeRelations = field(init=False)

    def __post_init__(self) -> None:
        self.converter = Converter(self.webhooks, self.index)
        self.node_relations = NodeRelations(self.watches)

    def unasked(self) -> Registry:
        """The same, for writes that follow from a request that has passed admission and do not pass
        it themselves (``rest.ValidateAllObjectFunc`` upstream)."""
        other = copy(self)
        other.chain = Chain(())
        return other

    async def late(self, tenant: Tenant, key: ObjectKey) -> Record | None:
        """An object that is missing, once more: what every namespace has comes a moment after it,
        and whoever asks for it by its name meanwhile gets it at once. Raises StorageError."""
        supply = self.supplies.get((key.group_resource, key.name))
        if supply is None:
            return None
        await supply(tenant, key.namespace)
        return await self.store.get(tenant.id, key)

    async def write(
        self,
        scope: Scope,
        write: Write,
        obj: Object,
        annotations: Mapping[str, str] = _NO_ANNOTATIONS,
        manager: str = "",
    ) -> int:
        """Commits a write of the operation, with its audit entry; its resourceVersion. ``obj``: as
        it will be, in the request's version; annotations: those of admission. Raises
        StorageError."""
        trail = scope.trail or self._own_trail(scope, write)
        if trail.verdict.level is Level.NONE or COMPLETE in trail.verdict.quiet:
            write.audit = QUIET
        else:
            code = 201 if write.operation == "create" or trail.info.verb == "create" else 200
            notes = {MANAGER: manager, ON_BEHALF: scope.cause, **annotations}
            write.audit = trail.entry(write.key, write.uid, code, notes, obj, len(write.data))
        version = await self.store.write(scope.tenant.id, write)
        trail.committed(write.key.name, write.uid, version)
        return version

    def _own_trail(self, scope: Scope, write: Write) -> Trail:
        """Of what the server does by itself."""
        resource, key = scope.resource, write.key
        info = RequestInfo(
            scope.tenant.name,
            "",
            "",
            True,
            write.operation,
            group=resource.group,
            version=scope.version,
            resource=resource.resource,
            subresource=scope.subresource,
            namespace=key.namespace,
            name=key.name,
        )
        name, agent = scope.tenant.name, scope.user_agent
        return trail_of_server(self.audit, scope.user, name, info, random_uid(), agent)

    # --- objects ----------------------------------------------------------------------------------
    def materialize(self, scope: Scope, record: State) -> Object:
        """A private copy of the stored object in the request's version, with its resourceVersion;
        `apiserver.registry.versions.load` for what a webhook may have to convert."""
        obj = scope.resource.loads(record.json)
        return self.to_version(scope.resource, obj, scope.version)

    def to_version(self, resource: Resource, obj: Object, version: str) -> Object:
        """``obj``, as it is stored, in the version. Raises ConversionFailed."""
        resource.decode_stored(obj)
        api_version = resource.gvk(version).api_version
        if obj.get("apiVersion") != api_version or obj.get("kind") != resource.kind:
            obj = resource.hooks.convert(obj, version)
            obj["kind"] = resource.kind
            resource.fit(obj, version)
        return obj

    def encode(self, resource: Resource, obj: Object) -> bytes:
        """The object as storage keeps it: storage version, no resourceVersion, kind, apiVersion and
        metadata first."""
        resource = self.keeper(resource)
        storage_version = resource.gvk(resource.storage_version)
        if obj.get("apiVersion") != storage_version.api_version:
            obj = resource.hooks.convert(obj, resource.storage_version)
        metadata = obj["metadata"].copy()
        metadata.pop("resourceVersion", None)
        first = {
            "kind": resource.kind,
            "apiVersion": storage_version.api_version,
            "metadata": metadata,
        }
        return resource.dumps({**first, **obj, **first})

    def claims(self, resource: Resource, obj: Object) -> tuple[str, ...]:
        hook = self.hooks.get(resource.storage)
        return hook.claims(obj) if hook is not None else ()

    def keeper(self, resource: Resource) -> Resource:
        """The resource in whose form objects are stored: core events for those of events.k8s.io."""
        if resource.storage == resource.group_resource:
            return resource
        keeper = self.catalog.stored(resource.storage)
        assert keeper is not None, f"{resource.storage} is built in"
        return keeper

    # --- reading ----------------------------------------------------------------------------------
    async def current(self, scope: Scope, key: ObjectKey) -> tuple[State | None, bool]:
        """The state to start a write from, and whether it is known to be the latest (a cache may
        lag by a moment)."""
        cache = self.watches.peek(scope.tenant.id, key.group_resource)
        entry = cache.get(key) if cache is not None else None
        if entry is not None:
            return entry, False
        return await self.watches.latest_known(scope.tenant.id, key)

    def lookup(self, tenant: Tenant, asker: Asker | None = None) -> CacheLookup:
        """asker: for whom admission does what may take long."""
        return CacheLookup(self, tenant, asker)

    def attributes(
        self,
        scope: Scope,
        operation: Operation,
        name: str,
        obj: Object | None,
        old: Object | None,
        **more: Any,
    ) -> Attributes:
        return Attributes(
            tenant=scope.tenant.id,
            operation=operation,
            kind=scope.resource.kind_at(scope.version, scope.subresource) or scope.gvk,
            resource=scope.resource.gvr(scope.version),
            subresource=scope.subresource,
            namespace=scope.namespace,
            name=name,
            object=obj,
            old=old,
            user=scope.user,
            warnings=scope.warnings,
            namespaced=scope.resource.namespaced,
            bounds=RequestBounds(scope),
            audit=_notes(scope),
            **more,
        )


_LOOK = 10  # steps (`apiserver.effort`) for comparing one object's labels with a selector


class CacheLookup:
    """admission.Lookup over the watch caches of one tenant."""

    def __init__(self, registry: Registry, tenant: Tenant, asker: Asker | None) -> None:
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


def write_of(
    operation: str,
    key: ObjectKey,
    obj: Object,
    data: bytes,
    expected: int = 0,
    claims: tuple[str, ...] = (),
    needs: str = "",
) -> Write:
    metadata = obj["metadata"]
    return Write(
        operation=operation,  # type: ignore[arg-type]  # callers pass one of the three literals
        key=key,
        uid=metadata.get("uid", ""),
        data=data,
        expected=expected,
        owner_uids=tuple(o.get("uid", "") for o in metadata.get("ownerReferences") or ()),
        finalizers=tuple(metadata.get("finalizers") or ()),
        deleting=bool(metadata.get("deletionTimestamp")),
        claims=claims,
        needs=needs,
    )


__all__ = ["CacheLookup", "Catalog", "DecodeError", "Hook", "Registry", "write_of"]
