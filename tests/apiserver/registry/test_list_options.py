"""Options of lists and watches in combinations, as they count through the whole API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.storage.interface import Store
from tests.support.api import Api, serving

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NEWER = "watch=true&resourceVersionMatch=NotOlderThan"


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def make(api: Api, *names: str) -> Any:
    for name in names:
        made = await api.ok("POST", CONFIG_MAPS, {"metadata": {"name": name}})
    return made


@pytest.mark.parametrize("version", ["", "&resourceVersion=", "&resourceVersion=0"])
async def test_without_initial_events_a_watch_begins_now(api: Api, version: str) -> None:
    await make(api, "a")
    watch = api.watch(f"{CONFIG_MAPS}?{NEWER}&sendInitialEvents=false{version}")
    await watch.begun()
    await make(api, "b")
    (event,) = await watch.take(1)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")
    await watch.stop()


async def test_a_watch_has_no_pages(api: Api) -> None:
    version = (await make(api, "a"))["metadata"]["resourceVersion"]
    await make(api, "b")
    watch = api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={version}&continue=x&limit=1")
    (event,) = await watch.take(1)
    assert event["object"]["metadata"]["name"] == "b"
    await watch.stop()
    asked = (f"{NEWER}&sendInitialEvents=true", "watch=true", "watch=true&resourceVersion=0")
    answers = [await api("GET", f"{CONFIG_MAPS}?{query}&continue=x") for query in asked]
    assert [(status, answer["details"]["causes"][0]["message"]) for status, answer in answers] == [
        (422, "Forbidden: resourceVersionMatch is forbidden when continue is provided")
    ] * 3


async def test_version_zero_has_no_pages_either(api: Api) -> None:
    await make(api, "a", "b", "c", "d")
    token = (await api.ok("GET", f"{CONFIG_MAPS}?limit=1"))["metadata"]["continue"]
    onward = f"{CONFIG_MAPS}?limit=1&continue={token}"
    assert len((await api.ok("GET", onward))["items"]) == 1
    rest = await api.ok("GET", f"{onward}&resourceVersion=0")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c", "d"]
    assert "continue" not in rest["metadata"]


@pytest.mark.parametrize("query", ["labelSelector=!a", "fieldSelector=metadata.name!=a", "x"])
async def test_a_page_may_be_asked_to_be_as_large_as_go_counts(api: Api, query: str) -> None:
    await make(api, "a", "b")
    made = (await api.ok("GET", CONFIG_MAPS))["metadata"]["resourceVersion"]
    for version in ("", f"&resourceVersion={made}&resourceVersionMatch=Exact"):
        answer = await api.ok("GET", f"{CONFIG_MAPS}?{query}&limit={2**63 - 1}{version}")
        assert answer["items"][-1]["metadata"]["name"] == "b"


async def test_a_version_that_is_zero_in_other_words_is_any(api: Api) -> None:
    await make(api, "a")
    exact = await api.ok("GET", f"{CONFIG_MAPS}?resourceVersion=00&resourceVersionMatch=Exact")
    assert exact["metadata"]["resourceVersion"] == exact["items"][-1]["metadata"]["resourceVersion"]


async def test_a_field_selector_that_says_nothing_counts_what_remains(api: Api) -> None:
    await make(api, "a", "b")
    page = await api.ok("GET", f"{CONFIG_MAPS}?limit=1&fieldSelector==")
    assert page["metadata"]["remainingItemCount"] == 1


async def test_a_watch_by_its_path_alone_has_the_options_of_a_list(api: Api) -> None:
    await make(api, "a")
    old = CONFIG_MAPS.replace("/v1/", "/v1/watch/")
    status, refused = await api("GET", f"{old}?sendInitialEvents=true")
    assert (status, refused["message"]) == (
        422,
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: '
        "sendInitialEvents is forbidden for list",
    )
    watch = api.watch(f"{old}?allowWatchBookmarks=true&fieldSelector=metadata.name=a")
    (event,) = await watch.take(1)
    await make(api, "b")
    await api.ok("DELETE", f"{CONFIG_MAPS}/a")
    (later,) = await watch.take(1)
    assert (event["type"], later["type"]) == ("ADDED", "DELETED")
    await watch.stop()


async def test_options_are_looked_at_before_the_fields_of_the_kind(api: Api) -> None:
    query = "fieldSelector=spec.nope=1&resourceVersion=5&resourceVersionMatch=bogus"
    assert (await api("GET", f"{CONFIG_MAPS}?{query}"))[0] == 422
    assert (await api("GET", f"{CONFIG_MAPS}?fieldSelector==,x&resourceVersionMatch=y"))[0] == 400


@pytest.mark.parametrize("version", ["00", "000"])
async def test_version_zero_in_other_words_ends_its_state_with_no_bookmark(
    api: Api, version: str
) -> None:
    await make(api, "a")
    query = f"watch=true&allowWatchBookmarks=true&resourceVersion={version}"
    watch = api.watch(f"{CONFIG_MAPS}?{query}")
    await watch.take(1)
    await make(api, "b")
    (event,) = await watch.take(1)
    assert event["type"] == "ADDED"
    await watch.stop()
