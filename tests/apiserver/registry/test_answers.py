"""Lists that are asked something: filtered, sorted, counted, page by page on one state."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.registry import answers, filters
from apiserver.storage.compact import compact
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import cache as caches
from tests.support.api import Api, serving

MAPS = "/api/v1/namespaces/ns/configmaps"
EVERYWHERE = "/api/v1/configmaps"
SIZES = {"a": "30", "b": "4", "c": "100", "d": "", "e": "4"}


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        for name, size in SIZES.items():
            data = {"size": size, "name": name} if size else {"name": name}
            await made.ok("POST", MAPS, config_map(name, data, {"half": str(name < "c")}))
        yield made


def config_map(name: str, data: dict[str, str], labels: dict[str, str] | None = None) -> Any:
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def ask(api: Api, path: str = MAPS, **query: Any) -> Any:
    return await api.ok("GET", f"{path}?{urlencode(query, doseq=True)}")


async def names(api: Api, path: str = MAPS, **query: Any) -> list[str]:
    return [item["metadata"]["name"] for item in (await ask(api, path, **query))["items"]]


async def refusal(api: Api, method: str = "GET", path: str = MAPS, **query: Any) -> Any:
    status, found = await api(method, f"{path}?{urlencode(query, doseq=True)}")
    assert status == found["code"]
    return found


# --- filter ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("self.data.size == '4'", "be"),
        ("has(self.data.size) && int(self.data.size) >= 30", "ac"),
        ("self.metadata.name in ['a', 'd']", "ad"),
        ("self.metadata.labels.half == 'True'", "ab"),
        ("self.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')", "abcde"),
        ("self.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')", ""),
        ("self.kind == 'ConfigMap' && self.apiVersion == 'v1'", "abcde"),
        ("!has(self.data.size)", "d"),
        ("self.?data.size.orValue('none') == 'none'", "d"),
        ("self == self", "abcde"),
        # what an object does not have is neither equal nor unequal
        ("self.data.size != '4'", "ac"),
    ],
)
async def test_a_filter_selects(api: Api, expression: str, expected: str) -> None:
    assert "".join(await names(api, filter=expression)) == expected


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("self.data.size ==", "compilation failed: ERROR: <input>:1:18: Syntax error"),
        ("self.spec.replicas > 1", "undefined field 'spec'"),
        ("self.data.size > 1", "found no matching overload for '_>_'"),
        ("self.data.size", "cel expression must evaluate to a bool"),
        ("object.data.size == '4'", "undeclared reference to 'object'"),
        ("true" + " " * filters.MOST, f"may have at most {filters.MOST} characters"),
    ],
)
async def test_an_expression_that_does_not_fit_is_refused(
    api: Api, expression: str, text: str
) -> None:
    refused = await refusal(api, filter=expression)
    assert refused["code"] == 422
    assert refused["reason"] == "Invalid"
    (cause,) = refused["details"]["causes"]
    assert cause["field"] == "filter"
    assert text in cause["message"]


async def test_an_object_that_costs_too_much_ends_the_request(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "PER_CALL_LIMIT", 3)
    refused = await refusal(api, filter="self.data.name.contains('a') || self.data.size == '4'")
    assert refused["code"] == 422
    assert "it costs too much for ns/a: cost limit exceeded" in refused["message"]


async def test_all_objects_together_have_a_limit(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    one = "self.data.name == 'e'"
    monkeypatch.setattr(filters, "REQUEST_LIMIT", 10)
    assert "it has cost more than 10 units" in (await refusal(api, filter=one))["message"]
    assert await names(api, filter=one, fieldSelector="metadata.name=e") == ["e"]


async def test_selectors_and_filters_both_hold(api: Api) -> None:
    found = await names(api, filter="self.data.size == '4'", labelSelector="half=True")
    assert found == ["b"]


# --- sortBy ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([".data.size"], "cabed"),
        (["-.data.size"], "beacd"),
        (["data.size", "-metadata.name"], "caebd"),
        (["-{.data.size}", "-.metadata.name"], "ebacd"),
        (["-$.metadata.name"], "edcba"),
        ([".metadata.labels['half']", "-.metadata.name"], "edcba"),
        ([".data"], "abcde"),
        ([".nothing.there"], "abcde"),
    ],
)
async def test_objects_come_in_the_order_asked_for(
    api: Api, keys: list[str], expected: str
) -> None:
    """What has no value comes last in either direction; what is equal by name."""
    assert "".join(await names(api, sortBy=keys)) == expected


async def test_numbers_come_by_value_and_types_one_after_another(
    api: Api,
) -> None:
    path = "/apis/apps/v1/namespaces/ns/deployments"
    for name, replicas in (("ten", 10), ("nine", 9), ("two", 2)):
        template = {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": {"a": "b"}},
            "template": template,
        }
        await api.ok("POST", path, {"metadata": {"name": name}, "spec": spec})
    assert await names(api, path, sortBy=".spec.replicas") == ["two", "nine", "ten"]
    assert await names(api, path, filter="self.spec.replicas > 5", sortBy="-.spec.replicas") == [
        "ten",
        "nine",
    ]


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ([".data[", ""], "sortBy[0]"),
        ([".data", "-"], "sortBy[1]"),
        ([".a" * 600], "sortBy[0]"),
        ([".a"] * 9, "sortBy"),
    ],
)
async def test_a_key_that_cannot_be_read_is_refused(api: Api, keys: list[str], field: str) -> None:
    refused = await refusal(api, sortBy=keys)
    assert refused["code"] == 422
    assert field in [cause["field"] for cause in refused["details"]["causes"]]


async def test_a_table_has_rows_in_the_order_asked_for(api: Api) -> None:
    """Also of a kind whose tables have an order of their own."""
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    for name, precedence in (("low", 9000), ("high", 100)):
        spec = {
            "matchingPrecedence": precedence,
            "priorityLevelConfiguration": {"name": "exempt"},
        }
        await api.ok("POST", path, {"metadata": {"name": name}, "spec": spec})
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"

    async def rows(query: str) -> list[str]:
        table = await api.ok("GET", f"{path}?{query}", accept=accept)
        return [row["cells"][0] for row in table["rows"]]

    assert await rows("") == ["high", "low"]
    assert await rows("sortBy=-.spec.matchingPrecedence") == ["low", "high"]


# --- count ----------------------------------------------------------------------------------------
async def test_a_count_says_how_many_are_behind_the_page(api: Api) -> None:
    first = await ask(api, labelSelector="half=False", limit=1, count="true")
    assert first["metadata"]["remainingItemCount"] == 2
    token = first["metadata"]["continue"]
    last = await ask(api, labelSelector="half=False", limit=2, count="true", **{"continue": token})
    assert [item["metadata"]["name"] for item in last["items"]] == ["d", "e"]
    assert last["metadata"]["remainingItemCount"] == 0


async def test_a_count_alone_has_no_items(api: Api) -> None:
    found = await ask(api, filter="has(self.data.size)", limit=1, count="only")
    assert (found["items"], found["metadata"]["remainingItemCount"]) == ([], 4)
    assert "continue" not in found["metadata"]


async def test_counts_are_of_three_kinds(api: Api) -> None:
    refused = await refusal(api, count="yes")
    assert (refused["code"], refused["details"]["causes"][0]["field"]) == (422, "count")


# --- pages ----------------------------------------------------------------------------------------
async def pages(api: Api, between: Any, path: str = MAPS, **query: Any) -> list[list[str]]:
    """Names, page by page; ``between`` is awaited after each."""
    found, token = [], ""
    while True:
        asked = {**query, **({"continue": token} if token else {})}
        page = await ask(api, path, **asked)
        found.append([item["metadata"]["name"] for item in page["items"]])
        token = page["metadata"].get("continue", "")
        if not token:
            return found
        await between(page)


async def upset(api: Api, page: Any) -> None:
    """Changes what all pages are about: an object more, one less, one at another place."""
    made = config_map("", {"size": "4"})
    made["metadata"] = {"generateName": "bb"}
    await api.ok("POST", MAPS, made)
    await api("DELETE", f"{MAPS}/e")
    await api.patch(f"{MAPS}/c", {"data": {"size": "0"}})


@pytest.mark.parametrize("forgotten", [False, True], ids=["window", "log"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"sortBy": "-.data.size"}, [["b", "e"], ["a", "c"], ["d"]]),
        ({"filter": "has(self.data.size)"}, [["a", "b"], ["c", "e"]]),
        ({"filter": "self.data.size > '3'", "sortBy": "data.size"}, [["a", "b"], ["e"]]),
        ({"count": "true"}, [["a", "b"], ["c", "d"], ["e"]]),
    ],
)
@pytest.mark.parametrize("path", [MAPS, EVERYWHERE])
async def test_all_pages_are_of_one_state(
    api: Api,
    query: Any,
    expected: list[list[str]],
    forgotten: bool,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def between(page: Any) -> None:
        await upset(api, page)
        await names(api)  # the cache has heard of it
        if forgotten:
            forget_changes(api, monkeypatch)

    other = config_map("x", {"size": "5"})
    other["metadata"]["namespace"] = "m"
    if path == MAPS:
        await api.ok("POST", "/api/v1/namespaces/m/configmaps", other)
    assert await pages(api, between, path, limit=2, **query) == expected


def forget_changes(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache's window reaches back to nothing."""
    monkeypatch.setattr(caches, "WINDOW_SECONDS", -1.0)
    cache = api.registry.watches.peek(api.tenant.id, GroupResource("", "configmaps"))
    assert cache is not None
    cache.forget_old()
    assert not cache.changes_after(0)


async def test_a_page_of_the_first_order_is_none_of_another(api: Api) -> None:
    query = {"sortBy": ".data.size", "limit": 2}
    token = (await ask(api, **query))["metadata"]["continue"]
    for other in (
        {},
        {"sortBy": "-.data.size"},
        {"sortBy": ".data.size", "filter": "true"},
        {"sortBy": ".data.size", "labelSelector": "half=True"},
    ):
        refused = await refusal(api, **other, **{"continue": token})
        assert refused["code"] == 400, other
        assert "another filter, sortBy or selector" in refused["message"]
    plain = (await ask(api, limit=2))["metadata"]["continue"]
    assert (await refusal(api, sortBy=".data.size", **{"continue": plain}))["code"] == 400


async def test_a_token_cannot_be_given_another_question(api: Api) -> None:
    token = (await ask(api, sortBy=".data.size", limit=2))["metadata"]["continue"]
    held = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    del held["q"]
    forged = base64.urlsafe_b64encode(orjson.dumps(held)).decode().rstrip("=")
    refused = await refusal(api, **{"continue": forged})
    assert (refused["code"], "not issued" in refused["message"]) == (400, True)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    "selected",
    [{"labelSelector": "half=True"}, {"filter": "self.metadata.labels.half == 'True'"}],
)
async def test_what_is_not_in_the_list_is_no_place_in_it(
    api: Api, selected: dict[str, str], kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token without a signature may name anything: whether there is such an object, and what it
    holds beside those that may be seen, is not to be found out by what comes behind it."""
    monkeypatch.setattr(answers, "FEW", 2)
    query = {**selected, "sortBy": ".data.size"}
    token = (await ask(api, limit=1, **query))["metadata"]["continue"]
    if kept:  # by somebody who sees all
        assert await names(api, sortBy=".data.size") == ["c", "a", "b", "e", "d"]
    found = orjson.loads(base64.urlsafe_b64decode(token + "=="))
    assert found.pop("sig")

    async def behind(name: str) -> Any:
        forged = base64.urlsafe_b64encode(orjson.dumps({**found, "start": f"{name}\0"})).decode()
        return await api("GET", f"{MAPS}?{urlencode({**query, 'continue': forged.rstrip('=')})}")

    status, page = await behind("a")
    assert status == 200 and [item["metadata"]["name"] for item in page["items"]] == ["b"]
    answers_to = [await behind(name) for name in ("c", "d", "e", "nothing")]
    assert {(status, page["message"]) for status, page in answers_to} == {
        (400, "invalid continue token: its object is not in the list")
    }


async def test_a_state_that_is_gone_is_said_to_be(
    api: Api, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sorted_, filtered = {"sortBy": ".data.size"}, {"filter": "has(self.data.size)"}
    tokens = [(await ask(api, limit=2, **q))["metadata"]["continue"] for q in (sorted_, filtered)]
    await api.ok("POST", MAPS, config_map("f", {"size": "1"}))
    await names(api)
    await compact(store.database, api.tenant.id, await store.head(api.tenant.id))
    forget_changes(api, monkeypatch)
    gone = await refusal(api, **sorted_, **{"continue": tokens[0]})
    assert (gone["code"], gone["reason"]) == (410, "Expired")
    assert "continue" not in gone["metadata"]
    gone = await refusal(api, **filtered, **{"continue": tokens[1]})
    assert gone["code"] == 410
    onward = await names(api, **filtered, **{"continue": gone["metadata"]["continue"]})
    assert onward == ["c", "e", "f"]


async def test_a_question_about_a_state_of_the_past(api: Api) -> None:
    at = (await ask(api))["metadata"]["resourceVersion"]
    await api.ok("DELETE", f"{MAPS}/b")
    past = {"resourceVersion": at, "resourceVersionMatch": "Exact"}
    assert await names(api, filter="self.data.size == '4'", **past) == ["b", "e"]
    assert await names(api, filter="self.data.size == '4'") == ["e"]
    assert await names(api, sortBy=".metadata.name", limit=1, resourceVersion="0") == ["a"]


# --- what answers no questions ------------------------------------------------------------------
@pytest.mark.parametrize("name", ["filter", "sortBy", "count"])
async def test_a_deletion_that_is_asked_something_deletes_nothing(api: Api, name: str) -> None:
    value = {"filter": "false", "sortBy": ".data.size", "count": "only"}[name]
    refused = await refusal(api, "DELETE", **{name: value})
    assert (refused["code"], refused["details"]["causes"][0]["field"]) == (422, name)
    assert len(await names(api)) == len(SIZES)


@pytest.mark.parametrize("query", ["sortBy=.data.size", "count=true"])
async def test_a_watch_has_no_order_and_no_count(api: Api, query: str) -> None:
    status, refused = await api("GET", f"{MAPS}?watch=1&{query}")
    assert status == 422, refused
    assert "is forbidden for watch" in refused["message"]


async def test_others_are_served_while_a_long_question_is_answered(api: Api) -> None:
    """An expression may loop over its constants for seconds: the loop goes on meanwhile."""
    numbers = "[" + ",".join("1" * 60) + "]"
    long = f"{numbers}.all(a, {numbers}.all(b, {numbers}.all(c, a + b + c == 3)))"
    answer = asyncio.ensure_future(refusal(api, filter=long))
    served = 0
    while not answer.done():
        await api.ok("GET", f"{MAPS}/a")
        served += 1
        await asyncio.sleep(0)
    assert served > 1
    assert answer.result()["code"] == 422
