"""Watches of custom objects in several versions: converted, shared, selected by what a
version says."""

from __future__ import annotations

from tests.support.api import Api
from tests.support.conversions import TABLE, defined
from tests.support.widgets import V1, V2, widget


async def test_watches_are_converted_and_share_what_was_converted(api: Api) -> None:
    async with defined(api) as hook:
        await api.ok("POST", V1, widget("a", host="h", port=1))
        watchers = [api.watch(f"{V2}?watch=true") for _ in range(5)]
        for watcher in watchers:
            (first,) = await watcher.take(1)
            assert (first["type"], first["object"]["spec"]) == ("ADDED", {"address": "h:1"})
        await api.patch(f"{V1}/a", {"spec": {"port": 2}})
        await api.ok("DELETE", f"{V1}/a")
        for watcher in watchers:
            changed, gone = await watcher.take(2)
            assert (changed["type"], changed["object"]["spec"]) == ("MODIFIED", {"address": "h:2"})
            assert (gone["type"], gone["object"]["spec"]) == ("DELETED", {"address": "h:2"})
            assert (
                changed["object"]["apiVersion"] == gone["object"]["apiVersion"] == "example.com/v2"
            )
        assert hook.asked == 3
        for watcher in watchers:
            await watcher.stop()


async def test_initial_events_and_tables_are_converted(api: Api) -> None:
    columns = [{"name": "Address", "type": "string", "jsonPath": ".spec.address"}]
    query = (
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
        "allowWatchBookmarks=true"
    )
    async with defined(api, additionalPrinterColumns=columns):
        await api.ok("POST", V1, widget("a", host="h", port=1))
        watcher = api.watch(f"{V2}?{query}", accept=TABLE)
        first, bookmark = await watcher.take(2)
        assert (
            first["object"]["rows"][0]["cells"] == ["a", "h:1"] and bookmark["type"] == "BOOKMARK"
        )
        await watcher.stop()


async def test_watches_from_the_past_are_converted(api: Api) -> None:
    async with defined(api):
        made = await api.ok("POST", V1, widget("a", host="h", port=1))
        await api.patch(f"{V1}/a", {"spec": {"port": 2}})
        watcher = api.watch(
            f"{V2}?watch=true&resourceVersion={made['metadata']['resourceVersion']}"
        )
        (event,) = await watcher.take(1)
        assert (event["type"], event["object"]["spec"]) == ("MODIFIED", {"address": "h:2"})
        await watcher.stop()


async def test_a_selecting_watch_sees_objects_come_and_go_in_its_version(api: Api) -> None:
    async with defined(api, selectableFields=[{"jsonPath": ".spec.address"}]):
        start = (await api.ok("GET", V2))["metadata"]["resourceVersion"]
        watcher = api.watch(
            f"{V2}?watch=true&resourceVersion={start}&fieldSelector=spec.address%3Dh:1"
        )
        await api.ok("POST", V1, widget("other", host="x", port=1))
        await api.ok("POST", V1, widget("a", host="h", port=1))
        await api.patch(f"{V1}/a", {"metadata": {"labels": {"x": "y"}}})
        left = (await api.patch(f"{V1}/a", {"spec": {"port": 2}}))[1]
        await api.patch(f"{V1}/a", {"spec": {"port": 3}})
        await api.patch(f"{V1}/a", {"spec": {"port": 1}})
        await api.ok("DELETE", f"{V1}/a")
        events = await watcher.take(5)
        assert [e["type"] for e in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
        assert {e["object"]["metadata"]["name"] for e in events} == {"a"}
        assert {e["object"]["spec"]["address"] for e in events} == {"h:1"}
        assert (
            events[2]["object"]["metadata"]["resourceVersion"]
            == left["metadata"]["resourceVersion"]
        )
        await watcher.stop()
