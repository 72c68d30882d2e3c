"""Default roles, their bindings and the APIServices of what this server serves are brought up to
date, in each tenant that is in use, once for each start of a process (kubernetes
``pkg/registry/rbac/rest/storage_rbac.go``; k8s.io/kube-aggregator
``controllers/autoregister``: sync on start).

A process may be the first or the tenth of one server to have a request for a tenant. So that this
makes no difference, what was written or deleted since the process started is left as it is: it
would have been if the process had looked at its start.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

import orjson

from apiserver.authz.reconciliation import binding_changes, protected, role_changes
from apiserver.controllers import names
from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.upkeep import Due
from apiserver.errors import Conflict
from apiserver.kinds.apiregistration.builtin import LABEL, local_services
from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import bootstrap_for
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

_RBAC = "rbac.authorization.k8s.io"
_RESOURCES = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
_SERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
_MANAGER = "polyplane"
_LARGEST = 64 * 1024
"""Bytes of an object that is compared; the largest by default has 12 KB."""
_AT_ONCE = 50


class _OncePerStart:
    """Looks at all of a tenant's objects at once."""

    resources: frozenset[GroupResource] = frozenset()

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations
        self._started = time.monotonic()
        self._due = Due()

    def concerned(self, event: Event) -> tuple[str, float] | None:
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        return []

    def used(self, tenant: int) -> Sequence[str]:
        return ["defaults"] if self._due.now(tenant) else []

    async def look(self, tenant: Tenant, name: str) -> float | None:
        await self._bring_up(tenant)
        self._due.done(tenant.id)
        return None

    async def _bring_up(self, tenant: Tenant) -> None:
        raise NotImplementedError

    async def _present(
        self, tenant: int, keys: Collection[ObjectKey]
    ) -> Mapping[ObjectKey, Object | None]:
        """Those of the keys' objects that are there; None for one that is too large to compare."""
        sizes = await self._relations.named(tenant, list(keys))
        present: dict[ObjectKey, Object | None] = dict.fromkeys(sizes)
        uids = [uid for uid, size in sizes.values() if size <= _LARGEST]
        for start in range(0, len(uids), _AT_ONCE):
            chunk = uids[start : start + _AT_ONCE]
            for record in await self._actions.registry.store.records(tenant, chunk):
                present[record.key] = orjson.loads(record.json)
        return present

    async def _untouched(self, tenant: int, keys: Collection[ObjectKey]) -> Sequence[ObjectKey]:
        if not keys:
            return []
        seconds = time.monotonic() - self._started
        touched = await self._relations.written(tenant, list(keys), seconds)
        return [key for key in keys if key not in touched]


class BootstrapRoles(_OncePerStart):
    """Missing rules, selectors and subjects come in, others stay; what is annotated with
    autoupdate "false" is left alone."""

    controller = names.BOOTSTRAP_ROLES

    async def _bring_up(self, tenant: Tenant) -> None:
        expected = {_key(o): o for o in bootstrap_objects(now()) if o["kind"] in _RESOURCES}
        present = await self._present(tenant.id, expected)
        differing = [
            key
            for key, obj in expected.items()
            if key not in present or _differs(present[key], obj)
        ]
        for key in await self._untouched(tenant.id, differing):
            await self._reconcile(tenant, key, expected[key])

    async def _reconcile(self, tenant: Tenant, key: ObjectKey, expected: Object) -> None:
        if await self._actions.ensure(tenant, key, expected, _MANAGER):
            return
        existing = await self._actions.get(tenant, key)
        if existing is not None and _of_another_role(existing, expected):
            await self._actions.delete(tenant, key, existing["metadata"]["uid"])
            await self._actions.ensure(tenant, key, expected, _MANAGER)
            return

        def edit(obj: Object) -> bool:
            if not protected(obj):
                obj.update(_changes(obj, expected) or {})
            return True

        await self._actions.change(tenant, key, edit, manager=_MANAGER)


class LocalServices(_OncePerStart):
    """One that is marked "onstart" is as it should be afterwards, or gone where its version is
    not served; others are left alone."""

    controller = names.AUTOREGISTRATION

    async def _bring_up(self, tenant: Tenant) -> None:
        services = {_service_key(o): o for o in local_services()}
        served = {
            _service_key(o)
            for o in bootstrap_for(self._actions.registry, tenant)
            if o["kind"] == "APIService"
        }
        present = await self._present(tenant.id, services)
        differing = [
            key
            for key, obj in services.items()
            if (key not in present and key in served) or _ours(present.get(key), key in served, obj)
        ]
        for key in await self._untouched(tenant.id, differing):
            existing = present.get(key)
            if existing is not None and key not in served:
                await self._remove(tenant, key, existing)
            elif not await self._actions.ensure(tenant, key, services[key], _MANAGER):
                await self._restore(tenant, key, services[key]["spec"])

    async def _remove(self, tenant: Tenant, key: ObjectKey, existing: Object) -> None:
        metadata = existing["metadata"]
        item = Item(key, metadata["uid"], int(metadata["resourceVersion"]), metadata)
        try:
            await self._actions.delete_judged(tenant, item, "Background")
        except Conflict:
            return  # somebody has just changed it, and may have taken the mark off

    async def _restore(self, tenant: Tenant, key: ObjectKey, spec: Object) -> None:
        def edit(obj: Object) -> bool:
            if _marked(obj):
                obj["spec"] = dict(spec)
            return True

        await self._actions.change(tenant, key, edit, manager=_MANAGER)


def _key(obj: Object) -> ObjectKey:
    metadata = obj["metadata"]
    return ObjectKey(
        _RBAC, _RESOURCES[obj["kind"]], metadata.get("namespace", ""), metadata["name"]
    )


def _service_key(obj: Object) -> ObjectKey:
    return ObjectKey(*_SERVICES, "", obj["metadata"]["name"])


def _changes(existing: Object, expected: Object) -> Object | None:
    if "roleRef" in expected:
        return binding_changes(existing, expected)
    return role_changes(existing, expected)


def _differs(existing: Object | None, expected: Object) -> bool:
    if existing is None or protected(existing):
        return False
    return _changes(existing, expected) != {}


def _of_another_role(existing: Object, expected: Object) -> bool:
    return not protected(existing) and _changes(existing, expected) is None


def _marked(service: Object) -> bool:
    return bool((service["metadata"].get("labels") or {}).get(LABEL) == "onstart")


def _ours(existing: Object | None, served: bool, expected: Object) -> bool:
    """Whether it is marked, and not as it should be."""
    if existing is None or not _marked(existing):
        return False
    return not served or existing["spec"] != expected["spec"]
