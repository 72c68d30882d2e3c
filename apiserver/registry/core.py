"""Registry: the parts that every operation works with, and what they share - reading, materializing
and encoding objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from admission.attributes import Attributes, Operation
from admission.chain import Chain
from admission.webhooks.client import WebhookClient
from apiserver.audit import latencies
from apiserver.audit.policy import COMPLETE, Level
from apiserver.audit.recorder import Recorder, trail_of_server
from apiserver.audit.trail import MANAGER, ON_BEHALF, Trail
from apiserver.authorizers.chain import Authority
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.declarative.run import DEFAULT_GATES, Gates
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
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
from apiserver.registry.lookup import CacheLookup, Catalog
from apiserver.registry.noderelations import NodeRelations
from apiserver.registry.offload import Asker
from apiserver.registry.scope import Scope, Tenant
from apiserver.request import RequestInfo
from apiserver.storage.interface import QUIET, ObjectKey, Record, Store, Write
from apiserver.watch.entry import Index
from apiserver.watch.watches import Watches


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
        begun = monotonic()
        version = await self.store.write(scope.tenant.id, write)
        latencies.add(trail.delays, latencies.STORAGE, monotonic() - begun)
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
            delays={} if scope.trail is None else scope.trail.delays,
            **more,
        )


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
