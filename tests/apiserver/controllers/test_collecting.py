"""Decisions of the controllers that delete, over a server that is only pretended: what happens between a question and its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from apiserver.controllers import namespaces
from apiserver.controllers.actions import Actions
from apiserver.controllers.garbage import GarbageCollector
from apiserver.controllers.manager import pages
from apiserver.errors import Forbidden
from apiserver.kinds.base import Object
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Found, Relations

TENANT = Tenant(1, "t")
CONFIGMAPS = GroupResource("", "configmaps")


def found(name: str) -> Found:
    return Found(1, ObjectKey(*CONFIGMAPS, "ns", name), f"uid-{name}")


class Pretended:
    """Both Actions and Relations. forbidden: names whose deletion is refused."""

    def __init__(self, *objects: Object, forbidden: frozenset[str] = frozenset()) -> None:
        self.objects = {o["metadata"]["name"]: o for o in objects}
        self.forbidden = forbidden
        self.deleted: list[tuple[str, str | None]] = []

    async def get(self, tenant: Tenant, key: ObjectKey) -> Object | None:
        return self.objects.get(key.name)

    async def delete(self, tenant: Tenant, key: ObjectKey, uid: str, policy: str = "", *, resource_version: str | None = None) -> bool:
        if key.name in self.forbidden:
            raise Forbidden(CONFIGMAPS, key.name, "a policy says so")
        self.deleted.append((key.name, resource_version))
        del self.objects[key.name]
        return True

    async def change(self, tenant: Tenant, key: ObjectKey, edit: Callable[[Object], bool], subresource: str = "") -> None:
        edit(self.objects[key.name])

    async def existing(self, tenant: int, uids: Sequence[str]) -> set[str]:
        return set()

    async def dependents(self, tenant: int, *uids: str) -> Sequence[Found]:
        return [found(n) for n, o in self.objects.items() if any(r["uid"] in uids for r in o["metadata"].get("ownerReferences", ()))]

    async def in_namespace(self, tenant: int, namespace: str, limit: int = 500) -> Sequence[Found]:
        return [found(name) for name in self.objects if name != "ns"]


def thing(name: str, **metadata: Any) -> Object:
    return {"kind": "ConfigMap", "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", **metadata}}


def collector(server: Pretended) -> GarbageCollector:
    return GarbageCollector(cast(Actions, server), cast(Relations, server))


async def test_an_object_that_lost_its_owner_references_meanwhile_stays() -> None:
    server = Pretended(thing("a"))
    await collector(server).collect(TENANT, found("a"))
    assert server.deleted == []


async def test_garbage_is_deleted_in_the_state_in_which_it_was_judged() -> None:
    server = Pretended(thing("a", ownerReferences=[{"uid": "gone"}]))
    await collector(server).collect(TENANT, found("a"))
    assert server.deleted == [("a", "7")]


async def test_an_object_that_may_not_be_deleted_keeps_no_other_in_its_namespace() -> None:
    ns = {"kind": "Namespace", "metadata": {"name": "ns", "deletionTimestamp": "x"}, "spec": {"finalizers": ["kubernetes"]}}
    server = Pretended(ns, thing("a"), thing("b"), forbidden=frozenset({"a"}))
    done = await namespaces.finish(cast(Actions, server), cast(Relations, server), TENANT, ObjectKey("", "namespaces", "", "ns"))
    assert not done and [name for name, _ in server.deleted] == ["b"]


async def test_dependents_of_all_that_went_are_found_together_and_one_that_may_not_go_keeps_no_other() -> None:
    things = [thing(name, ownerReferences=[{"uid": owner}]) for name, owner in (("a", "1"), ("b", "1"), ("c", "2"), ("d", "3"))]
    server = Pretended(*things, forbidden=frozenset({"a"}))
    assert not await collector(server).owners_gone(TENANT, {"1", "2"})
    assert [name for name, _ in server.deleted] == ["b", "c"]
    server.forbidden = frozenset()
    assert await collector(server).owners_gone(TENANT, {"1", "2"}) and set(server.objects) == {"d"}


async def test_a_sweep_goes_through_all_pages() -> None:
    names = [f"n{i}" for i in range(7)]

    async def read(after: Found | None) -> Sequence[Found]:
        start = 0 if after is None else names.index(after.key.name) + 1
        return [found(name) for name in names[start : start + 3]]

    assert [f.key.name async for f in pages(read)] == names
