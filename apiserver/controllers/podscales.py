"""How many pods the controllers of pods are to run (kubernetes ``pkg/controller/disruption``, its
finders)."""

from __future__ import annotations

from typing import NamedTuple

from apiserver.controllers.actions import Actions
from apiserver.controllers.disruptionstatus import SyncFailed
from apiserver.controllers.ownership import Kinds, Unresolvable
from apiserver.golang.strconv import go_quote
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, controller_of
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey

_DEPLOYMENTS = GroupResource("apps", "deployments")
_REPLICA_SETS = GroupResource("apps", "replicasets")
_GROUPS = ("apps", "extensions")


class PodScale(NamedTuple):
    uid: str
    replicas: int


class PodScales:
    """Of one namespace, at one time: a controller is asked once, however many pods it has."""

    def __init__(self, actions: Actions, tenant: Tenant, namespace: str) -> None:
        self._actions, self._tenant, self._namespace = actions, tenant, namespace
        self._known: dict[tuple[str, str, str, str], PodScale | SyncFailed | None] = {}
        self._kinds: Kinds | None = None

    async def of(self, reference: Object) -> PodScale | None:
        """That of the controller with this owner reference, or of the Deployment behind it; None
        where it is gone. Raises SyncFailed, ApiError, StorageError."""
        group_version, kind, name, uid = (
            str(reference.get(member, "")) for member in ("apiVersion", "kind", "name", "uid")
        )
        which = group_version, kind, name, uid
        if which not in self._known:
            try:
                self._known[which] = await self._find(reference)
            except SyncFailed as e:
                self._known[which] = e
        known = self._known[which]
        if isinstance(known, SyncFailed):
            raise known
        return known

    async def _find(self, reference: Object) -> PodScale | None:
        if _is(reference, "ReplicaSet"):
            replica_set = await self._object(_REPLICA_SETS, reference)
            owner = controller_of(replica_set) if replica_set is not None else None
            if owner is not None and _is(owner, "Deployment"):
                deployment = await self._object(_DEPLOYMENTS, owner)
                if deployment is not None:
                    return _scale(deployment["metadata"]["uid"], deployment)
            return _scale(reference["uid"], replica_set) if replica_set is not None else None
        resource = self._resource(reference)
        version = next(
            (v for v, s in resource.versions.items() if s.served and "scale" in s.subresources), ""
        )
        if not version:
            called = ".".join(filter(None, (resource.resource, resource.group)))
            raise SyncFailed(f"{called} does not implement the scale subresource")
        obj = await self._object(resource.group_resource, reference, version)
        return None if obj is None else _scale(reference["uid"], resource.hooks.scale_of(obj))

    def _resource(self, reference: Object) -> Resource:
        if self._kinds is None:
            self._kinds = Kinds(self._actions.resources(self._tenant))
        try:
            return self._kinds.resource(reference)
        except Unresolvable:
            kind, version = reference.get("kind", ""), reference.get("apiVersion", "")
            text = f"no matches for kind {go_quote(kind)} in version {go_quote(version)}"
            raise SyncFailed(text) from None

    async def _object(
        self, resource: GroupResource, reference: Object, version: str = ""
    ) -> Object | None:
        """The one with the name and the uid of the reference."""
        key = ObjectKey(*resource, self._namespace, reference.get("name", ""))
        obj = await self._actions.get(self._tenant, key, version)
        return obj if obj is not None and obj["metadata"]["uid"] == reference.get("uid") else None


def _is(reference: Object, kind: str) -> bool:
    group = str(reference.get("apiVersion", "")).rpartition("/")[0]
    return reference.get("kind") == kind and group in _GROUPS


def _scale(uid: str, obj: Object) -> PodScale:
    """Of an object or a Scale."""
    return PodScale(uid, (obj.get("spec") or {}).get("replicas") or 0)
