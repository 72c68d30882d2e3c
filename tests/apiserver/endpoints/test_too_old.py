"""Versions that are no longer retained, or not there yet: lists are refused, watches say so in
their stream (k8s.io/apiserver ``storage/cacher/cacher.go``)."""

from __future__ import annotations

from apiserver.storage.compact import compact
from apiserver.storage.postgres import PostgresStore
from tests.support.api import serving

MAPS = "/api/v1/namespaces/ns/configmaps"


async def test_a_watch_from_a_version_that_is_gone_ends_with_an_event(
    store: PostgresStore, tenant: int
) -> None:
    async with serving(store, tenant) as api:
        first = await api.ok("POST", MAPS, {"metadata": {"name": "a"}})
        await api.ok("POST", MAPS, {"metadata": {"name": "b"}})
        await compact(store.database, tenant, await store.head(tenant))
        version = first["metadata"]["resourceVersion"]
        watch = api.watch(f"{MAPS}?watch=1&resourceVersion={version}")
        (event,) = await watch.take(1)
        await watch.stop()
        assert event["type"] == "ERROR"
        told = event["object"]
        assert (told["code"], told["reason"]) == (410, "Expired")
        assert told["message"].startswith(f"too old resource version: {version} (")


async def test_a_watch_of_a_state_of_the_future_ends_with_an_event(
    store: PostgresStore, tenant: int
) -> None:
    async with serving(store, tenant) as api:
        version = await store.head(tenant) + 1000
        asked = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        watch = api.watch(f"{MAPS}?watch=1&{asked}&resourceVersion={version}")
        (event,) = await watch.take(1)
        await watch.stop()
        assert event["type"] == "ERROR"
        told = event["object"]
        assert (told["code"], told["reason"]) == (504, "Timeout")
        assert told["message"].startswith(f"Timeout: Too large resource version: {version}, ")
        assert told["details"]["retryAfterSeconds"] == 1


async def test_a_list_of_a_version_that_is_gone_is_refused(
    store: PostgresStore, tenant: int
) -> None:
    async with serving(store, tenant) as api:
        first = await api.ok("POST", MAPS, {"metadata": {"name": "a"}})
        await api.ok("POST", MAPS, {"metadata": {"name": "b"}})
        await compact(store.database, tenant, await store.head(tenant))
        version = first["metadata"]["resourceVersion"]
        query = f"resourceVersion={version}&resourceVersionMatch=Exact"
        status, refused = await api("GET", f"{MAPS}?{query}")
        assert (status, refused["reason"], refused["message"]) == (
            410,
            "Expired",
            "The resourceVersion for the provided list is too old.",
        )
