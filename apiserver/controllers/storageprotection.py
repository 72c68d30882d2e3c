"""What the admission plugin StorageObjectInUseProtection holds goes once nobody uses it: claims,
volumes and VolumeAttributesClasses (kubernetes ``pkg/controller/volume/pvcprotection``,
``pvprotection`` and ``vacprotection``).

Each lets its finalizer go when the object is being deleted and unused, and puts it back where an
object that is not being deleted lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import orjson

from admission.plugins.storageprotection import FINALIZERS
from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.refusals import each_its_turn
from apiserver.controllers.upkeep import Unchanged
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, controller_of
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey, Record
from apiserver.storage.relations import Relations

CLAIMS = GroupResource("", "persistentvolumeclaims")
VOLUMES = GroupResource("", "persistentvolumes")
CLASSES = GroupResource("storage.k8s.io", "volumeattributesclasses")
PODS = GroupResource("", "pods")
SETTLE = 1.0
"""Seconds from a change to the look at it."""
AGAIN = 30.0
"""Seconds until what somebody uses is looked at again: another process, which died, may have been
the one to hear of the end of the use."""
_ALL = "all"
_DELETED = b'"deletionTimestamp":"'
_MOST = 1000


class ClaimProtection:
    """Looks at the claims of a namespace by its name. Only pods that are on a node hold one: no
    kubelet starts a pod whose claim is being deleted."""

    controller = names.CLAIM_PROTECTION
    resources = frozenset({CLAIMS, PODS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations
        self._unchanged = Unchanged(relations, CLAIMS)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key, data = event.record.key, event.record.data
        if key.group_resource == PODS:
            going = event.type == "DELETED" or _DELETED in data
            concerns = going and _may_hold(data)
        else:
            concerns = event.type != "DELETED" and _to_settle(event.record)
        return (key.namespace, SETTLE) if concerns else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        found = [r async for r in self._actions.each(tenant.id, CLAIMS, name) if _to_settle(r)]
        used = _Uses()
        if any(_DELETED in record.data for record in found):
            async for pod in self._actions.each(tenant.id, PODS, name):
                if _may_hold(pod.data):
                    used.add(orjson.loads(pod.data))
        return await _settle_all(self._actions, tenant, found, used.hold)

    async def missed(self, tenant: int) -> Sequence[str]:
        if await self._unchanged.since_last(tenant):
            return []
        return await self._relations.namespaces_with(tenant, CLAIMS)


class VolumeProtection:
    """Looks at volumes by their name. One that is bound is used."""

    controller = names.VOLUME_PROTECTION
    resources = frozenset({VOLUMES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, VOLUMES)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        if event.type == "DELETED" or not _to_settle(event.record):
            return None
        return event.record.key.name, SETTLE

    async def look(self, tenant: Tenant, name: str) -> float | None:
        record = await self._actions.registry.store.get(tenant.id, ObjectKey(*VOLUMES, "", name))
        found = [] if record is None else [record]
        return await _settle_all(self._actions, tenant, found, _bound)

    async def missed(self, tenant: int) -> Sequence[str]:
        due = list[str]()
        if not await self._unchanged.since_last(tenant):
            async for record in self._actions.each(tenant, VOLUMES):
                if _to_settle(record):
                    due.append(record.key.name)
                    if len(due) >= _MOST:
                        break
        return due


class ClassProtection:
    """Looks at all VolumeAttributesClasses of a tenant together. Claims and volumes use those that
    they name; whatever changes in one may give one up."""

    controller = names.CLASS_PROTECTION
    resources = frozenset({CLASSES, CLAIMS, VOLUMES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, CLASSES)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        if event.record.key.group_resource == CLASSES:
            concerns = event.type != "DELETED" and _to_settle(event.record)
        else:
            concerns = event.type == "MODIFIED" or _CLASS in event.record.data
        return (_ALL, SETTLE) if concerns else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        found = [r async for r in self._actions.each(tenant.id, CLASSES) if _to_settle(r)]
        used = set[str]()
        if any(_DELETED in record.data for record in found):
            for resource in (CLAIMS, VOLUMES):
                async for record in self._actions.each(tenant.id, resource):
                    if _CLASS in record.data:
                        used.update(_classes_of(orjson.loads(record.data)))
        return await _settle_all(
            self._actions, tenant, found, lambda obj: obj["metadata"]["name"] in used
        )

    async def missed(self, tenant: int) -> Sequence[str]:
        return [] if await self._unchanged.since_last(tenant) else [_ALL]


# --- finalizers -----------------------------------------------------------------------------------
def _to_settle(record: Record) -> bool:
    """Whether a look may find something to do, by the object's text."""
    return _DELETED in record.data or _finalizer(record).encode() not in record.data


def _finalizer(record: Record) -> str:
    return FINALIZERS[record.key.group_resource]


async def _settle_all(
    actions: Actions, tenant: Tenant, records: Sequence[Record], used: Callable[[Object], bool]
) -> float | None:
    """The seconds until another look, where somebody still uses one of those that are being
    deleted."""
    waits = False
    with each_its_turn() as turn:
        for record in records:
            judged = _Judged(record.uid, _finalizer(record), used)
            with turn():
                await actions.change(tenant, record.key, judged.edit)
            waits = waits or judged.waits
    return AGAIN if waits else None


@dataclass(slots=True)
class _Judged:
    uid: str
    finalizer: str
    used: Callable[[Object], bool]
    waits: bool = False

    def edit(self, obj: Object) -> bool:
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        deleted, held = bool(metadata.get("deletionTimestamp")), self.finalizer in finalizers
        self.waits = False
        if metadata.get("uid") != self.uid or deleted != held:
            return False
        if not deleted:
            metadata["finalizers"] = [*finalizers, self.finalizer]
            return True
        self.waits = self.used(obj)
        if not self.waits:
            metadata["finalizers"] = [f for f in finalizers if f != self.finalizer]
        return not self.waits


# --- who uses what --------------------------------------------------------------------------------
@dataclass(slots=True)
class _Uses:
    """What the pods of a namespace use: claims by name, and those of their ephemeral volumes by
    name and the pod's uid."""

    claims: set[str] = field(default_factory=set)
    ephemeral: set[tuple[str, str]] = field(default_factory=set)

    def add(self, pod: Object) -> None:
        metadata, spec = pod["metadata"], pod.get("spec") or {}
        if not spec.get("nodeName"):
            return
        deleted = "deletionTimestamp" in metadata
        shut_down = deleted and metadata.get("deletionGracePeriodSeconds") == 0
        for volume in spec.get("volumes") or ():
            if claim := volume.get("persistentVolumeClaim"):
                self.claims.add(claim.get("claimName") or "")
            elif "ephemeral" in volume and not shut_down:
                self.ephemeral.add((f"{metadata['name']}-{volume['name']}", metadata["uid"]))

    def hold(self, claim: Object) -> bool:
        name, owner = claim["metadata"]["name"], controller_of(claim) or {}
        return name in self.claims or (name, owner.get("uid") or "") in self.ephemeral


def _may_hold(pod: bytes) -> bool:
    return b'"persistentVolumeClaim":' in pod or b'"ephemeral":' in pod


def _bound(volume: Object) -> bool:
    return (volume.get("status") or {}).get("phase") == "Bound"


_CLASS = b'olumeAttributesClassName":"'
"""Ends the three members of claims and volumes that name a class."""


def _classes_of(obj: Object) -> Iterator[str]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    yield spec.get("volumeAttributesClassName") or ""
    yield status.get("currentVolumeAttributesClassName") or ""
    yield (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName") or ""
