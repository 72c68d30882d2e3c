"""What controllers do to objects: always through the registry, as a system user, so that admission, events and watches see it."""

from __future__ import annotations

from collections.abc import Callable

from admission.attributes import Object
from apiserver.errors import Conflict, NotFound
from apiserver.registry import deletion, update
from apiserver.registry.core import Registry
from apiserver.registry.options import DeleteOptions
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.versions import load
from apiserver.storage.interface import ObjectKey
from apiserver.user import MASTERS, User

CONTROLLER = User("system:kube-controller-manager", groups=(MASTERS,))


class Actions:
    """Deletes and changes objects of one installation by their keys."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def scope(self, tenant: Tenant, key: ObjectKey, subresource: str = "") -> Scope | None:
        """None where the resource is not served (any more)."""
        resource = self.registry.catalog.find(tenant, key.group, key.resource)
        if resource is None:
            return None
        served = resource.versions[resource.storage_version]
        return Scope(
            tenant=tenant,
            resource=resource,
            served=served,
            user=CONTROLLER,
            namespace=key.namespace,
            name=key.name,
            subresource=subresource,
            user_agent="kube-controller-manager",
        )

    async def get(self, tenant: Tenant, key: ObjectKey) -> Object | None:
        """The stored object, fresh."""
        scope, record = self.scope(tenant, key), await self.registry.store.get(tenant.id, key)
        return None if scope is None or record is None else await load(self.registry, scope, record)

    async def delete(
        self, tenant: Tenant, key: ObjectKey, uid: str, policy: str = "Background", *, resource_version: str | None = None
    ) -> bool:
        """Whether it is gone now; objects with finalizers or grace stay for a while. resource_version: of the state that was judged; one
        that has changed since is left alone."""
        scope = self.scope(tenant, key)
        if scope is None:
            return False
        options = DeleteOptions(
            propagation_policy=policy, precondition_uid=uid, precondition_resource_version=resource_version, has_preconditions=True
        )
        try:
            return (await deletion.delete(self.registry, scope, options)).gone
        except (NotFound, Conflict):
            return True  # it is gone, or another object has its name

    async def change(self, tenant: Tenant, key: ObjectKey, edit: Callable[[Object], bool], subresource: str = "") -> None:
        """Applies ``edit`` (in place; False: nothing to do) to the object, if it is still there."""
        scope = self.scope(tenant, key, subresource)
        if scope is None:
            return

        async def change(old: Object | None) -> Object:
            if old is None:
                raise NotFound(scope.resource.group_resource, key.name)
            new = update.copy_of(old)
            edit(new)
            return new

        try:
            await update.update(self.registry, scope, change, update.Request(manager="kube-controller-manager"))
        except NotFound:
            return
