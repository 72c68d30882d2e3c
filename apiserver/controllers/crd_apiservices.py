"""An APIService for each group and version that definitions serve, as clients expect to find one
(kube-apiserver ``crdregistration``)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from apiserver.controllers.crd_status import MANAGER, USER
from apiserver.errors import AlreadyExists, NotFound
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.create import create
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.deletion import delete
from apiserver.registry.options import DeleteOptions
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.write import Request

SERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
MANAGED = "kube-aggregator.kubernetes.io/automanaged"


async def register(
    registry: Registry,
    catalog: TenantCatalog,
    tenant: Tenant,
    groups: Collection[str],
    *,
    without: str = "",
) -> None:
    """Creates those of the groups that are missing, and deletes those that nothing stands behind
    any more. ``without``: the name of a definition that is about to go. Raises ApiError,
    StorageError."""
    resource = catalog.find(tenant, *SERVICES)
    assert resource is not None, "APIServices are built in"
    scope = Scope(
        tenant, resource, resource.versions[resource.storage_version], USER, user_agent=MANAGER
    )
    services = {
        name: spec
        for group in groups
        for name, spec in _desired(catalog, tenant, group, without).items()
    }
    cache = await registry.watches.cache(tenant.id, SERVICES)
    existing = {e.name: e for e in cache.select() if e.name.partition(".")[2] in groups}
    for name in services.keys() - existing.keys():
        obj, _ = scope.decode(
            {"metadata": {"name": name, "labels": {MANAGED: "true"}}, "spec": services[name]}
        )
        try:
            await create(registry, replace(scope, name=name), obj, Request(MANAGER))
        except AlreadyExists:
            continue
    for name in existing.keys() - services.keys():
        if existing[name].labels.get(MANAGED) == "true":
            try:
                await delete(registry, replace(scope, name=name), DeleteOptions())
            except NotFound:
                continue


def _desired(catalog: TenantCatalog, tenant: Tenant, group: str, without: str) -> dict[str, Object]:
    """Names and specs. A definition counts from its creation on, served or not, until it is
    gone."""
    versions = {
        v for d in catalog.group(tenant, group).values() if d.name != without for v in d.served
    }
    return {
        f"{v}.{group}": {
            "group": group,
            "version": v,
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
        }
        for v in versions
    }
