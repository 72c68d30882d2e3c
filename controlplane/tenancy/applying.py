"""Objects applied in tenants by the server itself: server-side apply through the registry, with
admission, under the name of one manager, so that applying again changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson

from apiserver.codec import negotiate
from apiserver.controllers.actions import Actions
from apiserver.errors import ApiError
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.objects import Object
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.options import WriteOptions
from apiserver.registry.patching import Patch, patch
from apiserver.registry.patchtypes import BY_MEDIA_TYPE
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import Seeder
from apiserver.storage.interface import ObjectKey

_SERVED_WITHIN = 10.0  # seconds in which a definition is to be established
_FIRST = {"CustomResourceDefinition": 0, "Namespace": 1}


class CannotApply(Exception):
    """Which object, and why."""


class Applying:
    """seeds: makes what every tenant has, for objects that need its namespaces."""

    def __init__(self, actions: Actions, catalog: TenantCatalog, seeds: Seeder) -> None:
        self._actions, self._catalog, self._seeds = actions, catalog, seeds

    async def all(self, tenant: Tenant, objects: Sequence[Object], manager: str) -> None:
        """Definitions and namespaces first, then in the given order. Cut short at any point, it is
        done again from the beginning. Raises CannotApply, StorageError."""
        await self._catalog.ready(tenant)
        own = {o["metadata"].get("name") for o in objects if o.get("kind") == "Namespace"}
        if any((o.get("metadata") or {}).get("namespace", "") not in {"", *own} for o in objects):
            await self._seeds.ensure(tenant)
        ordered = sorted(objects, key=lambda o: _FIRST.get(str(o.get("kind")), 2))
        for i, obj in enumerate(ordered):
            try:
                await self.one(tenant, obj, manager)
                if obj["kind"] == "CustomResourceDefinition":
                    await self._established(tenant, obj["metadata"]["name"])
            except ApiError as e:
                metadata = obj.get("metadata") or {}
                what = f"{obj.get('kind')} {metadata.get('name', '')}"
                raise CannotApply(f"object {i + 1} of {len(ordered)}, {what}: {e.message}") from e

    async def one(self, tenant: Tenant, obj: Object, manager: str) -> None:
        """Raises ApiError, StorageError, CannotApply."""
        resource, version = await self._resource(tenant, obj)
        metadata: Object = obj["metadata"]
        namespace = metadata.get("namespace") or "default" if resource.namespaced else ""
        key = ObjectKey(resource.group, resource.resource, namespace, metadata["name"])
        scope = self._actions.scope(tenant, key, version=version)
        if scope is None:
            raise CannotApply(f"{resource.resource} are not served any more")
        body = {**obj, "metadata": {**metadata, "namespace": namespace} if namespace else metadata}
        options = WriteOptions(field_manager=manager, force=True, field_validation="Strict")
        applied = Patch(BY_MEDIA_TYPE[negotiate.APPLY_YAML], orjson.dumps(body), manager, options)

        async def may_create() -> None:
            pass

        await patch(self._actions.registry, scope, applied, authorize_create=may_create)

    async def _resource(self, tenant: Tenant, obj: Object) -> tuple[Resource, str]:
        api_version, kind = str(obj.get("apiVersion", "")), obj.get("kind")
        if not isinstance((obj.get("metadata") or {}).get("name"), str):
            raise CannotApply(f"a {kind} has no name")
        try:
            group, version = GroupVersion.parse(api_version)
        except ValueError as e:
            raise CannotApply(str(e)) from e
        for resource in self._actions.resources(tenant):
            served = resource.versions.get(version)
            if resource.group == group and resource.kind == kind and served and served.served:
                return resource, version
        raise CannotApply(f"there is no kind {kind} in {api_version or 'no apiVersion'}")

    async def _established(self, tenant: Tenant, name: str) -> None:
        """Raises CannotApply when it does not come to be served in time."""
        key = ObjectKey(*DEFINITIONS, "", name)
        deadline = asyncio.get_running_loop().time() + _SERVED_WITHIN
        while asyncio.get_running_loop().time() < deadline:
            obj = await self._actions.get(tenant, key)
            conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                await self._catalog.fresh(tenant)
                return
            if refusal := _refusal(conditions):
                raise CannotApply(f"definition {name}: {refusal}")
            await asyncio.sleep(0.05)
        raise CannotApply(f"definition {name} is not established yet")


def _refusal(conditions: Sequence[Object]) -> str:
    for condition in conditions:
        if condition["type"] == "NamesAccepted" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""
