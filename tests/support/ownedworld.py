"""A server in memory for the garbage collector: its Actions and Relations, a user, and a check of
every deletion.

`World.delete_judged` has rules of its own, written down apart from the code under test: it refuses
to delete what a solid owner keeps.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.garbage import GarbageCollector
from apiserver.controllers.ownership import Identity
from apiserver.errors import Conflict, Forbidden
from apiserver.kinds import catalog
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Below, Dependent, Owner, Relations

TENANT = Tenant(1, "t")
WIDGETS = GroupResource("example.com", "widgets")
"""Of a kind that nobody serves."""
_KINDS = {
    "ConfigMap": ("v1", GroupResource("", "configmaps")),
    "Secret": ("v1", GroupResource("", "secrets")),
    "ClusterRole": (
        "rbac.authorization.k8s.io/v1",
        GroupResource("rbac.authorization.k8s.io", "clusterroles"),
    ),
    "Widget": ("example.com/v1", WIDGETS),
}
_COLLECTORS = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}


def uid_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


class World:
    """forbidden: uids of objects that may not be deleted. before_change: called once, before the
    next deletion or change that the collector makes: what others do meanwhile."""

    def __init__(self) -> None:
        self.objects: dict[str, Item] = {}
        self.gone: dict[str, Identity] = {}
        self.deleted: list[tuple[str, str]] = []
        self.forbidden: set[str] = set()
        self.calls: dict[str, int] = {}
        self.before_change: Callable[[], None] | None = None
        self._versions = 0

    # --- what users do ----------------------------------------------------------------------------
    def create(
        self,
        name: str,
        *references: Mapping[str, Any],
        kind: str = "ConfigMap",
        namespace: str = "ns",
        **metadata: Any,
    ) -> str:
        """The new object's uid."""
        uid = uid_of(len(self.objects) + len(self.gone) + 1)
        key = ObjectKey(*_KINDS[kind][1], "" if kind == "ClusterRole" else namespace, name)
        owners = {"ownerReferences": [dict(r) for r in references]} if references else {}
        self.objects[uid] = Item(
            key, uid, self._next(), {"name": name, "uid": uid, **owners, **metadata}
        )
        return uid

    def delete(self, uid: str, policy: str = "Background") -> None:
        """As the registry does it (see tests of `apiserver.registry.deletion`)."""
        item = self.objects[uid]
        finalizers = [
            f for f in item.metadata.get("finalizers", ()) if f not in _COLLECTORS.values()
        ]
        finalizers += [_COLLECTORS[policy]] if policy in _COLLECTORS else []
        if finalizers:
            self._store(
                item, {**item.metadata, "finalizers": finalizers, "deletionTimestamp": "now"}
            )
        else:
            self._remove(uid)

    def edit(self, uid: str, edit: Callable[[dict[str, Any]], Any]) -> None:
        item = self.objects[uid]
        metadata = copy.deepcopy(item.metadata)
        edit(metadata)
        self._store(item, metadata)
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self._remove(uid)

    def reference(self, uid: str, *, block: bool | None = True, **changes: str) -> dict[str, Any]:
        """An owner reference to the object."""
        item = self.objects[uid]
        kind = next(k for k, (_, resource) in _KINDS.items() if resource == item.key.group_resource)
        made = {
            "apiVersion": _KINDS[kind][0],
            "kind": kind,
            "name": item.key.name,
            "uid": uid,
            **changes,
        }
        return made if block is None else {**made, "blockOwnerDeletion": block}

    def names(self) -> set[str]:
        return {item.key.name for item in self.objects.values()}

    def owners_of(self, uid: str) -> list[str]:
        return [
            reference["uid"] for reference in self.objects[uid].metadata.get("ownerReferences", ())
        ]

    # --- what the manager does --------------------------------------------------------------------
    def collector(self) -> GarbageCollector:
        return GarbageCollector(cast(Actions, self), cast(Relations, self))

    def waiting(self) -> list[str]:
        collectors = set(_COLLECTORS.values())
        return [
            u
            for u, i in self.objects.items()
            if i.metadata.get("deletionTimestamp") and collectors & {*i.metadata["finalizers"]}
        ]

    async def settle(self) -> None:
        """Follows up on all that happened until nothing changes any more."""
        collector, before = self.collector(), -1
        while before != self._versions:
            before = self._versions
            await collector.owners_gone(TENANT, dict(self.gone))
            await collector.collect(TENANT, list(self.objects))
            for uid in self.waiting():
                if uid in self.objects:
                    await collector.marked(TENANT, self.objects[uid].key)

    # --- Actions ----------------------------------------------------------------------------------
    def resources(self, tenant: Tenant) -> Sequence[Resource]:
        return list(catalog.resources().values())

    def preferred(self, tenant: Tenant, key: ObjectKey) -> None:
        """So nothing is told of anything."""

    async def item(self, tenant: Tenant, key: ObjectKey) -> Item | None:
        self._count("item")
        return next((copy.deepcopy(i) for i in self.objects.values() if i.key == key), None)

    async def items(self, tenant: Tenant, uids: Sequence[str]) -> Sequence[Item]:
        self._count("items")
        return [copy.deepcopy(self.objects[uid]) for uid in uids if uid in self.objects]

    async def delete_judged(self, tenant: Tenant, item: Item, policy: str, cause: str) -> None:
        self._meanwhile()
        self._count("delete")
        current = self.objects.get(item.uid)
        if current is None:
            return
        if current.resource_version != item.resource_version:
            raise Conflict(item.key.group_resource, item.key.name)
        if item.uid in self.forbidden:
            raise Forbidden(item.key.group_resource, item.key.name, "a policy says so")
        keepers = [
            r["uid"] for r in current.metadata.get("ownerReferences", ()) if self.solid(current, r)
        ]
        assert not keepers, f"{item.key.name} is kept by {keepers}"
        self.deleted.append((item.key.name, policy))
        self.delete(item.uid, policy)

    async def change_metadata(
        self, tenant: Tenant, item: Item, edit: Callable[[dict[str, Any]], bool]
    ) -> None:
        self._meanwhile()
        self._count("change")
        if item.uid in self.forbidden:
            raise Forbidden(item.key.group_resource, item.key.name, "a policy says so")
        if item.uid in self.objects and edit(copy.deepcopy(self.objects[item.uid].metadata)):
            self.edit(item.uid, edit)

    # --- Relations --------------------------------------------------------------------------------
    async def dependents(self, tenant: int, uids: Sequence[str]) -> Sequence[Dependent]:
        self._count("dependents")
        asked = set(uids)
        return [
            Dependent(uid, bool(item.metadata.get("deletionTimestamp")))
            for uid, item in self.objects.items()
            if any(r["uid"] in asked for r in item.metadata.get("ownerReferences", ()))
        ]

    async def below(self, tenant: int, uid: str) -> Below:
        self._count("below")
        found = [
            i
            for i in self.objects.values()
            if any(r["uid"] == uid for r in i.metadata.get("ownerReferences", ()))
        ]
        return Below(bool(found), any(map(_waits, found)))

    async def owners(self, tenant: int, uids: Collection[str]) -> Mapping[str, Owner]:
        self._count("owners")
        found = (self.objects[uid] for uid in uids if uid in self.objects)
        return {item.uid: Owner(item.key, _waits(item)) for item in found}

    # --- the rules --------------------------------------------------------------------------------
    def solid(self, dependent: Item, reference: Mapping[str, Any]) -> bool:
        owner = self.objects.get(reference["uid"])
        if (
            owner is None
            or owner.key.name != reference["name"]
            or owner.key.namespace not in ("", dependent.key.namespace)
        ):
            return False
        if (reference["apiVersion"], owner.key.group_resource) != _KINDS[reference["kind"]]:
            return False
        return not _waits(owner)

    def _remove(self, uid: str) -> None:
        item = self.objects.pop(uid)
        kind = next(k for k, (_, resource) in _KINDS.items() if resource == item.key.group_resource)
        self.gone[uid] = Identity(item.key.group, kind, item.key.namespace, item.key.name)
        self._next()

    def _store(self, item: Item, metadata: dict[str, Any]) -> None:
        if metadata != item.metadata:
            self.objects[item.uid] = item._replace(resource_version=self._next(), metadata=metadata)

    def _next(self) -> int:
        self._versions += 1
        return self._versions

    def _count(self, name: str) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1

    def _meanwhile(self) -> None:
        happens, self.before_change = self.before_change, None
        if happens is not None:
            happens()


def _waits(item: Item) -> bool:
    return bool(
        item.metadata.get("deletionTimestamp")
    ) and "foregroundDeletion" in item.metadata.get("finalizers", ())


def survivors(owners: Mapping[str, Iterable[str]], deleted: Collection[str]) -> set[str]:
    """Who is left in the end where nobody orphans: the largest set whose members were not deleted
    by a user, and own nobody's (have no owners) or are owned by another member. owners: uid to
    those of its valid references, of objects that have any; others map to ()."""
    left = set(owners) - set(deleted)
    while dead := {uid for uid in left if (o := list(owners[uid])) and not left.intersection(o)}:
        left -= dead
    return left
