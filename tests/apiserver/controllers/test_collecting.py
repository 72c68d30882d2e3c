"""Decisions of the controllers that delete, over a server that is only pretended: what happens
between a question and its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, cast

from apiserver.controllers import namespaces
from apiserver.controllers.actions import Actions
from apiserver.controllers.manager import pages
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
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
        self.deleted: list[str] = []

    async def get(self, tenant: Tenant, key: ObjectKey) -> Object | None:
        return self.objects.get(key.name)

    async def deleted_by(self, tenant: int, key: ObjectKey, marked: datetime) -> str:
        return "ann"

    async def delete(self, tenant: Tenant, key: ObjectKey, uid: str, cause: str) -> bool:
        assert cause == "deletion of namespace ns by ann"
        if key.name in self.forbidden:
            raise Forbidden(CONFIGMAPS, key.name, "a policy says so")
        self.deleted.append(key.name)
        del self.objects[key.name]
        return True

    async def change(
        self, tenant: Tenant, key: ObjectKey, edit: Callable[[Object], bool], subresource: str = ""
    ) -> None:
        edit(self.objects[key.name])

    async def in_namespace(
        self,
        tenant: int,
        namespace: str,
        *,
        resource: GroupResource | None = None,
        after: Found | None = None,
    ) -> Sequence[Found]:
        if after is not None or resource not in (None, CONFIGMAPS):
            return []
        return [found(name) for name in self.objects if name != "ns"]

    async def left_in(
        self, tenant: int, namespace: str
    ) -> Sequence[tuple[GroupResource, Sequence[str], int]]:
        return [(CONFIGMAPS, [], len(self.objects) - 1)] if len(self.objects) > 1 else []

    def resources(self, tenant: Tenant) -> Sequence[object]:
        return []


def thing(name: str, **metadata: Any) -> Object:
    return {
        "kind": "ConfigMap",
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", **metadata},
    }


async def test_an_object_that_may_not_be_deleted_keeps_no_other_in_its_namespace() -> None:
    ns = {
        "kind": "Namespace",
        "metadata": {"name": "ns", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"finalizers": ["kubernetes"]},
    }
    server = Pretended(ns, thing("a"), thing("b"), forbidden=frozenset({"a"}))
    done = await namespaces.finish(
        cast(Actions, server),
        cast(Relations, server),
        TENANT,
        ObjectKey("", "namespaces", "", "ns"),
    )
    assert not done and server.deleted == ["b"]


async def test_a_sweep_goes_through_all_pages() -> None:
    names = [f"n{i}" for i in range(7)]

    async def read(after: Found | None) -> Sequence[Found]:
        start = 0 if after is None else names.index(after.key.name) + 1
        return [found(name) for name in names[start : start + 3]]

    assert [f.key.name async for f in pages(read)] == names
