"""An APIService for each group and version that definitions serve, as clients expect to find one (kube-apiserver ``crdregistration``)."""

from __future__ import annotations

from dataclasses import replace

from apiserver.errors import AlreadyExists, NotFound
from apiserver.kinds.base import Object
from apiserver.meta.gvk import GroupResource
from apiserver.registry.core import Registry
from apiserver.registry.create import create
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.deletion import delete
from apiserver.registry.options import DeleteOptions
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User

SERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
MANAGED = "kube-aggregator.kubernetes.io/automanaged"


async def register(registry: Registry, catalog: TenantCatalog, tenant: Tenant, user: User) -> None:
    """Creates those that are missing and deletes those that nothing stands behind any more. Raises ApiError, StorageError."""
    resource = catalog.find(tenant, *SERVICES)
    assert resource is not None, "APIServices are built in"
    scope = Scope(tenant, resource, resource.versions[resource.storage_version], user, user_agent="kube-apiserver")
    wanted = _wanted(catalog, tenant)
    existing = {o["metadata"]["name"]: o for o in await registry.lookup(tenant).list(SERVICES)}
    for name, spec in wanted.items():
        if name not in existing:
            obj, _ = scope.decode({"metadata": {"name": name, "labels": {MANAGED: "true"}}, "spec": spec})
            try:
                await create(registry, replace(scope, name=name), obj, dry_run=False, manager="kube-apiserver")
            except AlreadyExists:
                continue
    for name, found in existing.items():
        if name not in wanted and (found["metadata"].get("labels") or {}).get(MANAGED) == "true":
            try:
                await delete(registry, replace(scope, name=name), DeleteOptions())
            except NotFound:
                continue


def _wanted(catalog: TenantCatalog, tenant: Tenant) -> dict[str, Object]:
    found: dict[str, Object] = {}
    for definition in catalog.definitions(tenant).values():
        resource = definition.resource
        if resource is None or definition.deleting:
            continue
        for version, served in resource.versions.items():
            if served.served:
                spec = {"group": resource.group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100}
                found[f"{version}.{resource.group}"] = spec
    return found
