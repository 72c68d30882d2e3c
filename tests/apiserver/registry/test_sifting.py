"""Watches with a filter: what comes to fulfil it is ADDED, what no longer does is DELETED."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from apiserver.registry import filters
from tests.support.api import Api, Watch
from tests.support.conversions import defined
from tests.support.widgets import V1, V2, widget

MAPS = "/api/v1/namespaces/ns/configmaps"
BIG = "int(self.data.size) > 5"
HEAD = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


async def make(api: Api, name: str, size: int, **labels: str) -> int:
    metadata = {"name": name, "labels": labels}
    made = await api.ok("POST", MAPS, {"metadata": metadata, "data": {"size": str(size)}})
    return int(made["metadata"]["resourceVersion"])


async def resize(api: Api, name: str, size: int | None, **labels: str | None) -> None:
    data = {"size": None if size is None else str(size)}
    status, found = await api.patch(
        f"{MAPS}/{name}", {"data": data, "metadata": {"labels": labels}}
    )
    assert status == 200, found


def watch(api: Api, expression: str, query: str = "watch=true", path: str = MAPS) -> Watch:
    return api.watch(f"{path}?{query}&filter={quote(expression)}")


def seen(event: Any) -> tuple[str, str, str | None]:
    obj = event["object"]
    return event["type"], obj["metadata"]["name"], obj["data"].get("size")


CHANGES = [
    ("ADDED", "a", "9"),
    ("MODIFIED", "a", "8"),
    ("DELETED", "a", "8"),
    ("ADDED", "a", "7"),
    ("DELETED", "a", "7"),
    ("ADDED", "c", "6"),
    ("DELETED", "c", "6"),
]


async def change(api: Api) -> None:
    await resize(api, "a", 9)
    await resize(api, "a", 8)
    await resize(api, "a", 2)
    await resize(api, "a", 3)
    await make(api, "b", 1)
    await resize(api, "a", 7)
    await resize(api, "a", None)
    await api.ok("DELETE", f"{MAPS}/b")
    await make(api, "c", 6)
    await api.ok("DELETE", f"{MAPS}/c")


async def test_events_are_those_of_objects_entering_and_leaving(api: Api) -> None:
    await make(api, "a", 1)
    watcher = watch(api, BIG)
    await make(api, "first", 10)  # is seen: the watch has begun
    assert seen(await watcher.next()) == ("ADDED", "first", "10")
    await change(api)
    events = await watcher.take(len(CHANGES))
    assert [seen(event) for event in events] == CHANGES
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
    assert versions == sorted(set(versions)), "also of what left: the version at which it did"
    await watcher.stop()


async def test_what_is_replayed_is_what_was_seen_live(api: Api) -> None:
    at = await make(api, "a", 1)
    await change(api)
    watcher = watch(api, BIG, f"watch=true&resourceVersion={at}")
    assert [seen(event) for event in await watcher.take(len(CHANGES))] == CHANGES
    await watcher.stop()


async def test_the_state_at_the_beginning_is_filtered(api: Api) -> None:
    await make(api, "a", 1)
    await make(api, "b", 7)
    watcher = watch(api, BIG, f"{HEAD}&allowWatchBookmarks=true")
    first, bookmark = await watcher.take(2)
    assert (seen(first), bookmark["type"]) == (("ADDED", "b", "7"), "BOOKMARK")
    await watcher.stop()


async def test_a_label_selector_and_a_filter_both_decide(api: Api) -> None:
    """Each way in and out, by either of them or both."""
    at = await make(api, "a", 9)
    await resize(api, "a", 9, app="x")  # in, by its label
    await resize(api, "a", 1)  # out, by the filter
    await resize(api, "a", 1, app=None)
    await resize(api, "a", 9)
    await resize(api, "a", 8, app="x")  # in
    await resize(api, "a", 7, app=None)  # out, by its label
    await resize(api, "a", 1, app="x")
    await resize(api, "a", 6, app="x")  # in, by the filter
    await resize(api, "a", 2, app=None)  # out, by both
    await make(api, "end", 10, app="x")
    query = f"watch=true&resourceVersion={at}&labelSelector=app%3Dx"
    watcher = watch(api, BIG, query)
    assert [seen(event) for event in await watcher.take(7)] == [
        ("ADDED", "a", "9"),
        ("DELETED", "a", "9"),
        ("ADDED", "a", "8"),
        ("DELETED", "a", "8"),
        ("ADDED", "a", "6"),
        ("DELETED", "a", "6"),
        ("ADDED", "end", "10"),
    ]
    await watcher.stop()


async def test_a_filter_sees_the_version_of_the_watcher(api: Api) -> None:
    """Where a webhook converts, too."""
    async with defined(api):
        await api.ok("POST", V1, widget("b", host="h", port=2))
        watcher = watch(api, "self.spec.address == 'h:2'", path=V2)
        await watcher.take(1)
        await api.ok("POST", V1, widget("a", host="h", port=1))
        await api.patch(f"{V1}/a", {"spec": {"port": 2}})
        await api.patch(f"{V1}/a", {"spec": {"port": 3}})
        added, left = await watcher.take(2)
        assert (added["type"], added["object"]["spec"]) == ("ADDED", {"address": "h:2"})
        assert (left["type"], left["object"]["spec"]) == ("DELETED", {"address": "h:2"})
        await watcher.stop()


async def test_a_filter_that_does_not_fit_begins_no_watch(api: Api) -> None:
    status, refused = await api("GET", f"{MAPS}?watch=1&filter=self.spec")
    assert (status, refused["details"]["causes"][0]["field"]) == (422, "filter")


async def test_a_filter_that_costs_too_much_ends_the_watch_with_an_error(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "PER_CALL_LIMIT", 3)
    watcher = watch(api, "self.data.size.contains('a') || self.data.size == '4'")
    await make(api, "a", 1)
    error = await watcher.next()
    assert error is not None
    assert (error["type"], error["object"]["code"]) == ("ERROR", 422)
    assert "cost limit exceeded" in error["object"]["message"]
    assert await watcher.next() is None
