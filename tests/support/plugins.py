"""Admission plugins in tests: requests about pods and other objects, and the objects around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import pytest

from admission.attributes import Attributes, Lookup
from apiserver.authz import attributes as authz
from apiserver.errors import ApiError
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

T = TypeVar("T")
PODS = GroupResource("", "pods")


class World:
    """The objects of a tenant, by resource, namespace and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[GroupResource, str, str], Object] = {}

    def put(self, resource: GroupResource, obj: Object) -> World:
        metadata = obj["metadata"]
        self.objects[resource, metadata.get("namespace", ""), metadata["name"]] = obj
        return self

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        return self.objects.get((resource, namespace, name))

    async def run(self, work: Callable[[], T]) -> T:
        return work()


class Rights:
    """Answers questions: only what is listed is allowed, as ``verb resource name``."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    async def __call__(self, lookup: Lookup, question: authz.Attributes) -> authz.Decision:
        asked = f"{question.verb} {question.full_resource} {question.name}"
        return authz.Decision(asked in self.allowed)


def asked(
    obj: Object | None,
    old: Object | None = None,
    resource: GroupResource = PODS,
    subresource: str = "",
    user: User | None = None,
    namespace: str = "ns",
    kind: str = "Pod",
    tenant: int = 1,
    **more: Any,
) -> Attributes:
    """CREATE without ``old``, DELETE without ``obj``."""
    name = ((obj or old or {}).get("metadata") or {}).get("name", "")
    return Attributes(
        tenant,
        "CREATE" if old is None else "DELETE" if obj is None else "UPDATE",
        GroupVersionKind(resource.group, "v1", kind),
        GroupVersionResource(resource.group, "v1", resource.resource),
        subresource,
        namespace,
        more.pop("name", name),
        obj,
        old,
        user or User("u"),
        **more,
    )


async def run(plugin: Any, request: Attributes, world: World | None = None) -> Object | None:
    """The object as the plugin leaves it."""
    lookup = cast(Lookup, world or World())
    if plugin.handles(request):
        for phase in ("admit", "validate"):
            if hasattr(plugin, phase):
                await getattr(plugin, phase)(request, lookup)
    return request.object


async def refusal(plugin: Any, request: Attributes, world: World | None = None) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await run(plugin, request, world)
    return refused.value
