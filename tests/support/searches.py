"""ObjectSearches, and what they should find: all that lists show, looked through one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.search.words import AREAS, Needle
from tests.support.api import Api

SEARCHES = "/apis/search.polyplane.dev/v1/objectsearches"
Key = tuple[str, str, str]
"""(resource, namespace, name)."""


async def status_of(api: Api, text: str, headers: dict[str, str], **spec: Any) -> Object:
    review = await api.ok("POST", SEARCHES, {"spec": {"text": text, **spec}}, **headers)
    status: Object = review["status"]
    return status


async def search(
    api: Api, text: str, headers: dict[str, str] | None = None, **spec: Any
) -> list[Key]:
    """What all pages have, none of which may say that it is incomplete."""
    found: list[Key] = []
    token = ""
    while True:
        status = await status_of(api, text, headers or {}, **{**spec, "continue": token})
        assert not status.get("incomplete"), status
        found += keys(status)
        token = status.get("continue", "")
        if not token:
            return found


def keys(status: Object) -> list[Key]:
    return [(i["resource"], i.get("namespace", ""), i["name"]) for i in status.get("items", ())]


async def listed(
    api: Api, places: Iterable[tuple[str, str]], headers: dict[str, str] | None = None
) -> list[tuple[GroupResource, Object]]:
    """The objects of those lists (group and version, resource with its namespace) that are allowed:
    ``("api/v1", "namespaces/ns/configmaps")``."""
    objects: list[tuple[GroupResource, Object]] = []
    for root, path in places:
        status, answer = await api("GET", f"/{root}/{path}", **(headers or {}))
        if status == 200:
            group = root.split("/")[1] if root.startswith("apis/") else ""
            resource = GroupResource(group, path.rpartition("/")[2])
            objects += ((resource, obj) for obj in answer["items"])
        else:
            assert status == 403, answer
    return objects


def brute_force(
    objects: Iterable[tuple[GroupResource, Object]], text: str, areas: Sequence[str] = AREAS
) -> list[Key]:
    """In the order of answers."""
    needle = Needle.of(text)
    found = {
        (resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        for resource, obj in objects
        if needle.matches(resource, obj, areas)
    }
    return [(r.resource, namespace, name) for r, namespace, name in sorted(found)]
