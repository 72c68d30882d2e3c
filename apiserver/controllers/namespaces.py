"""Namespace deletion: the pods of a terminating namespace are deleted first, then all else, then
the finalizer "kubernetes" is taken off its spec. What keeps it is said in its conditions.

Source: "Namespaces" in the Kubernetes API concepts, kubernetes
``pkg/controller/namespace/deletion`` (namespaced_resources_deleter.go).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime

from apiserver.controllers.actions import Actions
from apiserver.controllers.emptying import Remains, set_conditions, unexpected
from apiserver.errors import ApiError
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now, parse_time
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Found, Relations

log = logging.getLogger("polyplane.controllers")

FINALIZER = "kubernetes"
PODS = GroupResource("", "pods")
_AT_ONCE = 8
_PASSES = 3
"""How often one call goes through a namespace into which others still write."""


async def finish(actions: Actions, relations: Relations, tenant: Tenant, key: ObjectKey) -> bool:
    """Deletes what can be deleted of a terminating namespace now, and then lets it go. False:
    something is still there, come again."""
    namespace = await actions.get(tenant, key)
    if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
        return True
    if FINALIZER not in namespace.get("spec", {}).get("finalizers", ()):
        return True
    emptying = _Emptying(actions, relations, tenant, namespace)
    remains = await emptying.run()
    await _report(actions, tenant, key, namespace["metadata"]["uid"], remains)
    if remains.anything:
        return False

    def edit(obj: Object) -> bool:
        finalizers = [f for f in obj.get("spec", {}).get("finalizers", ()) if f != FINALIZER]
        obj["spec"] = {"finalizers": finalizers} if finalizers else {}
        return True

    await actions.change(tenant, key, edit, "finalize")
    return True


async def _report(
    actions: Actions, tenant: Tenant, key: ObjectKey, uid: str, remains: Remains
) -> None:
    """In the conditions. A status that may not be written keeps nothing from being deleted."""

    def edit(obj: Object) -> bool:
        same = bool(obj["metadata"].get("uid") == uid)
        return same and set_conditions(obj.setdefault("status", {}), remains, now())

    try:
        await actions.change(tenant, key, edit, "status")
    except ApiError as e:
        log.info("the conditions of namespace %s: %s", key.name, e)


class _Emptying:
    """Deletes what is in one namespace."""

    def __init__(
        self, actions: Actions, relations: Relations, tenant: Tenant, namespace: Object
    ) -> None:
        self._actions, self._relations, self._tenant = actions, relations, tenant
        self._name: str = namespace["metadata"]["name"]
        self._began: datetime = parse_time(namespace["metadata"]["deletionTimestamp"])
        self._cause = f"deletion of namespace {self._name}"
        self._served: dict[GroupResource, list[Resource]] = {}
        for resource in actions.resources(tenant):
            self._served.setdefault(resource.storage, []).append(resource)

    async def run(self) -> Remains:
        """What is left, and why. Nothing else is touched while there are pods."""
        if by := await self._relations.deleted_by(
            self._tenant.id, ObjectKey("", "namespaces", "", self._name), self._began
        ):
            self._cause += f" by {by}"
        errors, _ = await self._delete_all(PODS)
        remains = await self._remains(errors, PODS)
        if remains.counts:
            return remains
        for _ in range(_PASSES):
            errors, progress = await self._delete_all()
            remains = await self._remains(errors)
            if not remains.anything or not progress:
                break
        return remains

    async def _gracious(self) -> bool:
        """Whether pods that run still have time to end."""
        passed = (now() - self._began).total_seconds()
        for row in await self._relations.in_namespace(self._tenant.id, self._name, resource=PODS):
            pod = await self._actions.get(self._tenant, row.key)
            if pod is None or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                continue
            if passed < (pod["spec"].get("terminationGracePeriodSeconds") or 0):
                return True
        return False

    async def _delete_all(
        self, resource: GroupResource | None = None
    ) -> tuple[dict[GroupResource, str], bool]:
        """(the first error of each resource, whether anything is gone). Each object is tried once,
        those that are being deleted, too: a policy may let them go now."""
        errors: dict[GroupResource, str] = {}
        progress, last = False, None
        while page := await self._relations.in_namespace(
            self._tenant.id, self._name, resource=resource, after=last
        ):
            last = page[-1]
            for chunk in _chunks(page):
                for row, outcome in zip(
                    chunk, await asyncio.gather(*map(self._delete, chunk)), strict=True
                ):
                    if isinstance(outcome, str):
                        errors.setdefault(row.key.group_resource, outcome)
                    else:
                        progress = progress or outcome
        return errors, progress

    async def _delete(self, row: Found) -> bool | str:
        """Whether it is gone, or why it may not go. One object keeps none of the others."""
        try:
            return await self._actions.delete(self._tenant, row.key, row.uid, self._cause)
        except ApiError as e:
            return e.message

    async def _remains(
        self, errors: dict[GroupResource, str], only: GroupResource | None = None
    ) -> Remains:
        """Counted anew: others may write at the same time. only: the one resource that was
        deleted; nothing is expected of the others."""
        remains = Remains(list(errors.values()))
        for storage, finalizers, count in await self._relations.left_in(
            self._tenant.id, self._name
        ):
            if only not in (None, storage):
                continue
            for version, resource in self._names(storage):
                remains.add(version, resource, finalizers, count)
        for version, resource in {(version, resource) for version, resource, _ in remains.counts}:
            if resource in errors or remains.finalized(resource):
                continue
            if resource != PODS or not await self._gracious():
                remains.errors.append(unexpected(self._name, version, resource))
        return remains

    def _names(self, storage: GroupResource) -> Sequence[tuple[str, GroupResource]]:
        """(preferred version, resource) under which discovery shows what is stored there."""
        served = self._served.get(storage, ())
        names = [(next(iter(r.versions)), r.group_resource) for r in served]
        return names or [("", storage)]


def _chunks(page: Sequence[Found]) -> list[Sequence[Found]]:
    return [page[start : start + _AT_ONCE] for start in range(0, len(page), _AT_ONCE)]
