"""Namespaces that are made because something is created in them: by this server itself, past
admission as any other."""

from __future__ import annotations

import time

from apiserver.meta.gvk import GroupResource
from apiserver.registry.core import Registry
from apiserver.registry.create import create
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.write import Request
from apiserver.user import MASTERS, User

_SERVER = User("system:apiserver", groups=(MASTERS,))
_MANAGER = "kube-apiserver"
_PATIENCE = 10.0
"""Seconds that admission may take."""
_NAMESPACES = GroupResource("", "namespaces")


class Provision:
    """registry: set as soon as there is one; its chain has a plugin that wants this."""

    registry: Registry | None = None

    async def __call__(self, tenant: int, name: str) -> None:
        """Raises ApiError, StorageError."""
        registry = self.registry
        assert registry is not None, "nothing is admitted before there is a registry"
        of = Tenant(tenant, "")
        resource = registry.catalog.find(of, *_NAMESPACES)
        assert resource is not None, "namespaces are built in"
        scope = Scope(
            tenant=of,
            resource=resource,
            served=resource.versions[resource.storage_version],
            user=_SERVER,
            namespace="",
            name=name,
            subresource="",
            user_agent=_MANAGER,
            until=time.monotonic() + _PATIENCE,
        )
        obj, _ = scope.decode({"metadata": {"name": name}})
        await create(registry, scope, obj, Request(_MANAGER))
