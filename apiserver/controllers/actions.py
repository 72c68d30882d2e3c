"""What controllers do to objects: always through the registry, as a system user, so that admission,
events and watches see it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

import orjson

from apiserver.codec import negotiate
from apiserver.controllers.beside import Beside
from apiserver.errors import AlreadyExists, Conflict, Forbidden, NotFound
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.registry import deletion
from apiserver.registry.changes import Edit
from apiserver.registry.core import Registry
from apiserver.registry.create import create
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.options import DeleteOptions, WriteOptions
from apiserver.registry.patching import Patch, patch
from apiserver.registry.patchtypes import BY_MEDIA_TYPE
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.update import update
from apiserver.registry.versions import load
from apiserver.registry.write import Request
from apiserver.storage.interface import ObjectKey, Record
from apiserver.user import MASTERS, User

_PAGE = 50
"""Objects, of which each may have megabytes."""
MANAGER = "kube-controller-manager"
OURS = "polyplane"
"""The manager of what an attached kube-controller-manager publishes as well, with a CA of its own:
whose it is must show."""
CONTROLLER = User("system:kube-controller-manager", groups=(MASTERS,))


class Item(NamedTuple):
    """The metadata of an object as it is stored, in whatever version: it says the same in all."""

    key: ObjectKey
    uid: str
    resource_version: int
    metadata: dict[str, Any]


PATIENCE = 10.0
"""Seconds that admission of a write may take: controllers have others to see to, and come
again."""


class Actions:
    """Deletes and changes objects of one installation by their keys. beside: what nobody waits
    for."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.beside = Beside()

    def scope(
        self,
        tenant: Tenant,
        key: ObjectKey,
        subresource: str = "",
        cause: str = "",
        version: str = "",
    ) -> Scope | None:
        """None where the resource is not served (any more). cause: for the audit log; version: that
        in which objects are stored where none is given."""
        resource = self.registry.catalog.find(tenant, key.group, key.resource)
        if resource is None:
            return None
        served = resource.versions[version or resource.storage_version]
        return Scope(
            tenant=tenant,
            resource=resource,
            served=served,
            user=CONTROLLER,
            namespace=key.namespace,
            name=key.name,
            subresource=subresource,
            user_agent=MANAGER,
            until=time.monotonic() + PATIENCE,
            cause=cause,
        )

    def preferred(self, tenant: Tenant, key: ObjectKey) -> GroupVersionKind | None:
        """Under which discovery shows the object first, and as which an attached
        kube-controller-manager knows it; None where its resource is not served (any more)."""
        resource = self.registry.catalog.find(tenant, key.group, key.resource)
        if resource is None:
            return None
        served = (version for version, of in resource.versions.items() if of.served)
        return resource.gvk(next(served, resource.storage_version))

    async def each(
        self, tenant: int, resource: GroupResource, namespace: str = ""
    ) -> AsyncIterator[Record]:
        """All that is stored of a resource, a page at a time, however much that is. Raises
        StorageError."""
        after: tuple[str, str] | None = None
        while True:
            page = await self.registry.store.list(
                tenant, resource, namespace=namespace, after=after, limit=_PAGE
            )
            for record in page.records:
                yield record
            if len(page.records) < _PAGE:
                return
            after = page.records[-1].key.namespace, page.records[-1].key.name

    async def get(self, tenant: Tenant, key: ObjectKey, version: str = "") -> Object | None:
        """The stored object, fresh; version: by default the one that it is stored in."""
        scope = self.scope(tenant, key, version=version)
        record = await self.registry.store.get(tenant.id, key)
        return None if scope is None or record is None else await load(self.registry, scope, record)

    def resources(self, tenant: Tenant) -> Sequence[Resource]:
        """All that the tenant serves."""
        return self.registry.catalog.all(tenant)

    async def item(self, tenant: Tenant, key: ObjectKey) -> Item | None:
        """Fresh; no webhook is asked to convert it."""
        record = await self.registry.store.get(tenant.id, key)
        return await _item(tenant, record) if record is not None else None

    async def items(self, tenant: Tenant, uids: Sequence[str]) -> Sequence[Item]:
        """Those of ``uids`` that are there, likewise."""
        return [await _item(tenant, r) for r in await self.registry.store.records(tenant.id, uids)]

    async def ensure(
        self,
        tenant: Tenant,
        key: ObjectKey,
        obj: Object,
        manager: str = MANAGER,
        *,
        absent: bool = False,
        uid: str = "",
    ) -> bool:
        """Creates the object (less kind and apiVersion), unless it is there or may not be (its
        namespace is gone or going): whether it did. manager: of its fields; absent: it is hardly
        there; uid: that it gets, of `random_uid`; a new one by default."""
        if not absent and await self.registry.store.get(tenant.id, key) is not None:
            return False
        scope = self.scope(tenant, key)
        if scope is None:
            return False
        decoded, _ = scope.decode(obj)
        try:
            await create(self.registry, scope, decoded, Request(manager), uid=uid)
        except (AlreadyExists, Forbidden, NotFound):
            return False
        return True

    async def delete(self, tenant: Tenant, key: ObjectKey, uid: str, cause: str = "") -> bool:
        """Whether it is gone now; objects with finalizers or grace stay for a while."""
        scope = self.scope(tenant, key, cause=cause)
        if scope is None:
            return False
        options = DeleteOptions(
            propagation_policy="Background", precondition_uid=uid, has_preconditions=True
        )
        try:
            return (await deletion.delete(self.registry, scope, options)).gone
        except (NotFound, Conflict):
            return True  # it is gone, or another object has its name

    async def delete_judged(self, tenant: Tenant, item: Item, policy: str, cause: str = "") -> None:
        """Deletes the object in the state that was judged. Raises Conflict if it has another
        now."""
        scope = self.scope(tenant, item.key, cause=cause)
        if scope is None:
            return
        options = DeleteOptions(
            propagation_policy=policy,
            precondition_uid=item.uid,
            precondition_resource_version=str(item.resource_version),
            has_preconditions=True,
        )
        try:
            await deletion.delete(self.registry, scope, options)
        except NotFound:
            return

    async def change_judged(
        self, tenant: Tenant, key: ObjectKey, version: str, edit: Callable[[Object], None]
    ) -> bool:
        """Applies ``edit`` to the object in the state that was judged, by its resourceVersion.
        False where it has another now."""

        def judged(obj: Object) -> bool:
            if obj["metadata"]["resourceVersion"] != version:
                raise Conflict(key.group_resource, key.name, "it has changed")
            edit(obj)
            return True

        try:
            await self.change(tenant, key, judged)
        except Conflict:
            return False
        return True

    async def change_metadata(
        self, tenant: Tenant, item: Item, edit: Callable[[dict[str, Any]], bool]
    ) -> None:
        """Applies ``edit`` to the metadata of the object, if that one (by uid) is still there."""

        def same(obj: Object) -> bool:
            if obj["metadata"].get("uid") != item.uid:
                raise NotFound(item.key.group_resource, item.key.name)
            return edit(obj["metadata"])

        await self.change(tenant, item.key, same)

    async def change(
        self,
        tenant: Tenant,
        key: ObjectKey,
        edit: Callable[[Object], bool],
        subresource: str = "",
        manager: str = MANAGER,
    ) -> None:
        """Applies ``edit`` (in place; False: nothing to do) to the object, if it is still there.
        manager: of the fields that it changes."""
        scope = self.scope(tenant, key, subresource)
        if scope is None:
            return

        async def edited(obj: Object) -> Object:
            edit(obj)
            return obj

        try:
            await update(self.registry, scope, Edit(edited), Request(manager))
        except NotFound:
            return

    async def apply_status(
        self, tenant: Tenant, key: ObjectKey, status: Object, manager: str
    ) -> None:
        """Server-side apply, with force, of a part of the object's status, if it is still there."""
        scope = self.scope(tenant, key, "status")
        if scope is None:
            return
        kind = {"apiVersion": scope.gvk.api_version, "kind": scope.gvk.kind}
        body = orjson.dumps({**kind, "metadata": {"name": key.name}, "status": status})
        options = WriteOptions(field_manager=manager, force=True)
        applied = Patch(BY_MEDIA_TYPE[negotiate.APPLY_YAML], body, manager, options)

        async def create() -> None:
            raise AssertionError("a status creates nothing")

        try:
            await patch(self.registry, scope, applied, authorize_create=create)
        except NotFound:
            return


async def _item(tenant: Tenant, record: Record) -> Item:
    metadata = await by_size(
        Asker(tenant, len(record.data)), lambda: orjson.loads(record.data)["metadata"]
    )
    return Item(record.key, record.uid, record.resource_version, metadata)
