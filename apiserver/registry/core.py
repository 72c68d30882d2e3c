"""Registry: the parts that every operation works with, and what they share - reading, materializing and encoding objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from admission.attributes import Attributes, Object, Operation
from admission.chain import Chain
from admission.webhooks.client import WebhookClient
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.base import Resource
from apiserver.kinds.declarative.run import DEFAULT_GATES, Gates
from apiserver.meta.gvk import GroupResource, GroupVersionResource
from apiserver.registry.conversion import Converter, default_stored, shape
from apiserver.registry.scope import Scope, Tenant
from apiserver.schema.decode import DecodeError
from apiserver.storage.interface import ObjectKey, Store, Write
from apiserver.watch.entry import Index
from apiserver.watch.watches import Watches


class State(Protocol):
    """One object at one version: a storage Record or a cache's Entry."""

    @property
    def json(self) -> bytes: ...
    @property
    def resource_version(self) -> int: ...


class Item(Protocol):
    """One object of a list: a cache entry, or a record read from the log."""

    @property
    def json(self) -> bytes: ...


class Catalog(Protocol):
    """The resources of one tenant: built-in ones and those of its CustomResourceDefinitions."""

    def find(self, tenant: Tenant, group: str, resource: str) -> Resource | None: ...

    def all(self, tenant: Tenant) -> Sequence[Resource]: ...

    def stored(self, resource: GroupResource) -> Resource | None: ...


class Hook(Protocol):
    """What a kind needs of other objects around its writes (IP allocation, role escalation ...). Raises ApiError to refuse."""

    async def before_write(self, registry: Registry, scope: Scope, obj: Object, old: Object | None, *, dry_run: bool) -> None: ...

    def claims(self, obj: Object) -> tuple[str, ...]:
        """What the object holds and no other object of the tenant may hold (Write.claims). A write that finds something claimed by
        another is begun again: before_write then sees that other one."""


@dataclass(slots=True)
class Registry:
    """hooks: by storage GroupResource; manager: the FieldManager of a resource; sign: keyed hash of a message; index: labels and selectable
    fields of a stored object; gates: those of declarative validation; webhooks: who calls them."""

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
    converter: Converter = field(init=False)

    def __post_init__(self) -> None:
        self.converter = Converter(self.webhooks, self.index)

    # --- objects ---------------------------------------------------------------------------------------------------------------
    def materialize(self, scope: Scope, record: State) -> Object:
        """A private copy of the stored object in the request's version, with its resourceVersion; `apiserver.registry.versions.load` for
        what a webhook may have to convert."""
        obj: Object = orjson.loads(record.json)
        return self.to_version(scope.resource, obj, scope.version)

    def to_version(self, resource: Resource, obj: Object, version: str) -> Object:
        """``obj``, as it is stored, in the version; custom objects get the defaults of the version that they are stored in."""
        wanted = resource.gvk(version).api_version
        if resource.custom:
            default_stored(resource, obj)
        if obj.get("apiVersion") != wanted or obj.get("kind") != resource.kind:
            obj = resource.hooks.convert(obj, version)
            obj["kind"] = resource.kind
            if resource.custom:
                shape(resource, obj, version)
        return obj

    def encode(self, resource: Resource, obj: Object) -> bytes:
        """The object as storage keeps it: storage version, no resourceVersion, kind, apiVersion and metadata first."""
        resource = self.keeper(resource)
        storage_version = resource.gvk(resource.storage_version)
        if obj.get("apiVersion") != storage_version.api_version:
            obj = resource.hooks.convert(obj, resource.storage_version)
        metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
        ordered = {"kind": resource.kind, "apiVersion": storage_version.api_version, "metadata": metadata}
        for name, value in obj.items():
            if name not in ordered:
                ordered[name] = value
        return orjson.dumps(ordered)

    def claims(self, resource: Resource, obj: Object) -> tuple[str, ...]:
        hook = self.hooks.get(resource.storage)
        return hook.claims(obj) if hook is not None else ()

    def keeper(self, resource: Resource) -> Resource:
        """The resource in whose form objects are stored: core events for those of events.k8s.io."""
        if resource.custom or resource.storage == resource.group_resource:
            return resource
        found = self.catalog.stored(resource.storage)
        assert found is not None, f"{resource.storage} is built in"
        return found

    # --- reading ---------------------------------------------------------------------------------------------------------------
    async def current(self, scope: Scope, key: ObjectKey) -> tuple[State | None, bool]:
        """The state to start a write from, and whether it is known to be the latest (a cache may lag by a moment)."""
        cache = self.watches.peek(scope.tenant.id, key.group_resource)
        entry = cache.get(key) if cache is not None else None
        if entry is not None:
            return entry, False
        return await self.store.get(scope.tenant.id, key), True

    def lookup(self, tenant: Tenant) -> CacheLookup:
        return CacheLookup(self, tenant)

    def attributes(self, scope: Scope, operation: Operation, name: str, obj: Object | None, old: Object | None, **more: Any) -> Attributes:
        return Attributes(
            tenant=scope.tenant.id,
            operation=operation,
            kind=scope.gvk,
            resource=GroupVersionResource(scope.resource.group, scope.version, scope.resource.resource),
            subresource=scope.subresource,
            namespace=scope.namespace,
            name=name,
            object=obj,
            old=old,
            user=scope.user,
            warnings=scope.warnings,
            namespaced=scope.resource.namespaced,
            **more,
        )


class CacheLookup:
    """admission.Lookup over the watch caches of one tenant."""

    def __init__(self, registry: Registry, tenant: Tenant) -> None:
        self._registry, self._tenant = registry, tenant

    async def get(self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False) -> Object | None:
        if not fresh:
            cache = await self._registry.watches.cache(self._tenant.id, resource)
            entry = cache.get(ObjectKey(*resource, namespace, name))
            return None if entry is None else entry.shared
        record = await self._registry.store.get(self._tenant.id, ObjectKey(*resource, namespace, name))
        return None if record is None else orjson.loads(record.json)

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        cache = await self._registry.watches.cache(self._tenant.id, resource)
        return [entry.shared for entry in cache.select(namespace)]


_GO_ORDER = {
    name: i
    for i, name in enumerate(
        ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
         "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields")
    )
}  # fmt: skip


def ordered_metadata(metadata: Object, resource: Resource) -> Object:
    """Members as kube-apiserver prints them: those of Go's struct in its order, those of custom resources by name."""
    if resource.custom:
        return {k: metadata[k] for k in sorted(metadata)}
    return {k: metadata[k] for k in sorted(metadata, key=lambda k: _GO_ORDER.get(k, 99))}


def write_of(
    operation: str, key: ObjectKey, obj: Object, data: bytes, expected: int = 0, claims: tuple[str, ...] = (), needs: str = ""
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
