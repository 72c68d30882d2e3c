"""Where pages of lists come from: the watch cache while it has their state, the log afterwards, and
the database while the cache is not yet loaded. Nobody can tell by the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.registry import reading
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import cache as caches
from tests.support.api import Api, serving
from tests.support.waiting import until

ALL = "/api/v1/configmaps"
CONFIGMAPS = GroupResource("", "configmaps")
NAMES = [(space, f"n{i}") for space in ("a", "a-b", "b") for i in range(4)]
SELECTED = [{}, {"labelSelector": "half=1"}, {"labelSelector": "half!=1"}]


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        for space, name in NAMES:
            await write(made, space, name)
        yield made


async def write(api: Api, space: str, name: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"half": str(int(name[1:]) % 2)}},
    }
    await api.ok("POST", f"/api/v1/namespaces/{space}/configmaps", body)


async def ask(api: Api, path: str = ALL, **query: Any) -> Any:
    return await api.ok("GET", f"{path}?{urlencode(query)}")


async def pages(api: Api, first: Any, path: str, **query: Any) -> Any:
    """All items, with those of ``first``."""
    items, at = first["items"], first["metadata"]["resourceVersion"]
    while token := first["metadata"].get("continue"):
        first = await ask(api, path, **query, **{"continue": token})
        assert first["metadata"]["resourceVersion"] == at
        items += first["items"]
    return items


async def change(api: Api) -> None:
    """Comes before, between and behind what has been listed."""
    await api.ok("DELETE", "/api/v1/namespaces/a/configmaps/n1")
    await api.ok("DELETE", "/api/v1/namespaces/b/configmaps/n3")
    await api.patch("/api/v1/namespaces/a-b/configmaps/n2", {"metadata": {"labels": {"half": "1"}}})
    for name in ("n00", "n5"):
        await write(api, "a", name)


@pytest.mark.parametrize("many", [0, 1000])
@pytest.mark.parametrize("query", SELECTED)
@pytest.mark.parametrize("path", [ALL, "/api/v1/namespaces/a/configmaps"])
async def test_pages_go_on_with_the_state_that_the_cache_has(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str, query: dict[str, str], many: int
) -> None:
    monkeypatch.setattr(reading, "MANY", many)
    whole = (await ask(api, path, **query))["items"]
    assert len(whole) >= 2
    for limit in (1, 2, 5):
        first = await ask(api, path, **query, limit=limit)
        asked = {**query, "limit": limit}
        await change(api)

        def logged(*_: Any, **__: Any) -> Any:
            raise AssertionError("the cache has that state")

        with monkeypatch.context() as patched:
            patched.setattr(reading, "past_page", logged)
            assert await pages(api, dict(first), path, **asked) == whole
        for name in ("n00", "n5"):  # as it was
            await api.ok("DELETE", f"/api/v1/namespaces/a/configmaps/{name}")
        whole_again = {(m["metadata"]["namespace"], m["metadata"]["name"]) for m in whole}
        assert len(whole_again) == len(whole)
        for space, name in (("a", "n1"), ("b", "n3")):
            await write(api, space, name)
        away = {"metadata": {"labels": {"half": "0"}}}
        await api.patch("/api/v1/namespaces/a-b/configmaps/n2", away)
        whole = (await ask(api, path, **query))["items"]


@pytest.mark.parametrize("query", SELECTED)
async def test_pages_go_on_with_the_log_when_the_cache_has_forgotten(
    api: Api, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    whole = (await ask(api, **query))["items"]
    first = await ask(api, **query, limit=2)
    await change(api)
    monkeypatch.setattr(caches, "WINDOW_SECONDS", -1.0)
    cache = await api.registry.watches.fresh(api.tenant.id, CONFIGMAPS)
    cache.forget_old()
    assert await pages(api, first, ALL, **query, limit=2) == whole


async def test_remaining_items_are_counted(api: Api) -> None:
    first = await ask(api, limit=5)
    assert first["metadata"]["remainingItemCount"] == len(NAMES) - 5
    asked = {"limit": 4, "continue": first["metadata"]["continue"]}
    assert (await ask(api, **asked))["metadata"]["remainingItemCount"] == len(NAMES) - 9
    last = await ask(api, **{**asked, "limit": 7})
    assert "remainingItemCount" not in last["metadata"] and "continue" not in last["metadata"]


@pytest.mark.parametrize("path", [ALL, "/api/v1/namespaces/a/configmaps"])
@pytest.mark.parametrize("limit", [1, 3, 50])
async def test_a_first_page_does_not_wait_for_the_cache(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str, limit: int
) -> None:
    watches = api.registry.watches
    warm = await ask(api, path, limit=limit)
    watches.drop(api.tenant.id, CONFIGMAPS)
    monkeypatch.setattr(reading, "SOON", 0.0)
    with monkeypatch.context() as patched:

        async def waits(*_: Any) -> Any:
            raise AssertionError("nobody waits for the cache")

        patched.setattr(reading, "recent", waits)
        assert await ask(api, path, limit=limit) == warm
    await until(lambda: watches.peek(api.tenant.id, CONFIGMAPS) is not None)
    assert await ask(api, path, limit=limit) == warm
