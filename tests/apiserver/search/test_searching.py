"""An ObjectSearch as clients see it: what is found, page by page, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.search import searching
from apiserver.search.indexer import Indexer
from apiserver.storage import search as storage_search
from tests.support.api import Api
from tests.support.searches import SEARCHES, keys, search, status_of
from tests.support.widgets import V1, define, widget

CORE = "/api/v1/namespaces/{}/{}"


async def put(api: Api, resource: str, name: str, namespace: str = "ns", **more: Any) -> None:
    metadata = {"name": name, **more.pop("metadata", {})}
    await api.ok("POST", CORE.format(namespace, resource), {"metadata": metadata, **more})


async def indexed(api: Api) -> None:
    assert await Indexer(api.registry.store).index(api.tenant.id, 1000)


async def test_an_object_is_found_by_all_that_is_in_it(api: Api) -> None:
    labels, notes = {"tier": "gold"}, {"team.example.com/owner": "Ada Lovelace"}
    await put(
        api,
        "configmaps",
        "settings",
        metadata={"labels": labels, "annotations": notes},
        data={"app.conf": "url = postgres://db.internal:5432"},
    )
    for _ in range(2):
        for text in ("SETT", "tier=gold", "lovelace", "app.conf", "db.internal:54", "= postgres"):
            assert await search(api, text) == [("configmaps", "ns", "settings")], text
        assert await search(api, "gold", **{"in": ["names", "values"]}) == []
        assert await search(api, "nowhere") == []
        await indexed(api)


async def test_an_answer_says_what_it_found_and_where(api: Api) -> None:
    await put(api, "configmaps", "m", data={"k": "some text"}, metadata={"finalizers": ["a/b"]})
    await api.ok("DELETE", f"{CORE.format('ns', 'configmaps')}/m")
    (item,) = (await status_of(api, "some t", {}))["items"]
    assert item.pop("uid") and item.pop("deletionTimestamp")
    assert item == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "resource": "configmaps",
        "namespace": "ns",
        "name": "m",
        "matches": [{"in": "values", "path": "data.k", "excerpt": "some text"}],
    }


async def test_what_is_written_is_found_at_once_and_what_is_gone_is_not(api: Api) -> None:
    path = f"{CORE.format('ns', 'configmaps')}/m"
    await put(api, "configmaps", "m", data={"k": "early"})
    await indexed(api)
    await api.ok("PATCH", path, {"data": {"k": "late"}}, "application/merge-patch+json")
    for _ in range(2):
        assert (await search(api, "early"), await search(api, "late")) == (
            [],
            [("configmaps", "ns", "m")],
        )
        await indexed(api)
    await api.ok("DELETE", path)
    assert await search(api, "late") == []
    await indexed(api)
    assert await search(api, "late") == []


async def test_kinds_and_namespaces(api: Api) -> None:
    for namespace in ("ns", "other"):
        for resource in ("configmaps", "serviceaccounts"):
            await put(api, resource, "web", namespace)
    await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "web"}})
    await indexed(api)
    assert len(await search(api, "web")) == 5
    assert await search(api, "web", kinds=["cm"], namespaces=["other"]) == [
        ("configmaps", "other", "web")
    ]
    assert await search(api, "web", kinds=["Namespace"]) == [("namespaces", "", "web")]
    assert len(await search(api, "web", namespaces=["ns", "other", "empty"])) == 4


async def test_custom_objects_as_they_are_stored(api: Api) -> None:
    await define(api, None)
    await api.ok("POST", V1, widget("w", host="wanderer", port=8080))
    for _ in range(2):
        for text in ("wander", "8080"):
            (item,) = (await status_of(api, text, {}))["items"]
            assert (item["apiVersion"], item["kind"], item["resource"]) == (
                "example.com/v1",
                "Widget",
                "widgets",
            )
        await indexed(api)


async def test_pages_have_all_of_it_once_and_in_order(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "BATCH", 3)
    monkeypatch.setattr(storage_search, "WALK", 2)
    for i in range(13):
        await put(api, "configmaps", f"web-{i:02}", data={"k": "x" if i % 2 else "y"})
        if i == 8:
            await indexed(api)
    every = [("configmaps", "ns", f"web-{i:02}") for i in range(13)]
    for limit in (1, 2, 4, 13, 500):
        assert await search(api, "web", limit=limit) == every
        assert await search(api, "y", limit=limit) == every[::2]


async def test_large_objects_come_a_few_at_a_time(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MOST_BYTES", 2000)
    for i in range(4):
        await put(api, "configmaps", f"big-{i}", data={"k": "word " * 400})
        await put(
            api, "configmaps", f"large-{i}", data={"k": " ".join(f"w{n}" for n in range(5000))}
        )
    await indexed(api)
    await put(api, "configmaps", "big-9", data={"k": "word " * 400})
    assert len(await search(api, "word")) == 5
    assert len(await search(api, "w4999")) == 4, "an object of many words has none in the index"


@pytest.mark.parametrize("text", ["%", "_", "' & '", "\\", "((", ":*", "!", "|", "-"])
async def test_characters_without_a_word(api: Api, text: str) -> None:
    await put(api, "configmaps", "has", data={"k": f"a {text} b"})
    await put(api, "configmaps", "has.not", data={"k": "ab"})
    for _ in range(2):
        found = await search(api, text, **{"in": ["values"]}, kinds=["configmaps"])
        assert found == [("configmaps", "ns", "has")]
        assert await search(api, f"a {text}") == [("configmaps", "ns", "has")]
        await indexed(api)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"text": ""}, "spec.text: Required value"),
        ({"text": " \n "}, "spec.text: Required value"),
        ({"text": "ä" * 129}, "spec.text: Too long: may not be more than 256 bytes"),
        ({"text": "x", "in": ["values", "secrets"]}, 'spec.in[1]: Unsupported value: "secrets"'),
        ({"text": "x", "limit": 501}, "spec.limit: Invalid value: 501"),
        ({"text": "x", "limit": -1}, "spec.limit: Invalid value: -1"),
        ({"text": "x", "namespaces": ["A'b"]}, "spec.namespaces[0]: Invalid value"),
        ({"text": "x", "namespaces": ["*"]}, "leave it out for all namespaces"),
        ({"text": "x", "kinds": ["cm", "nothing"]}, 'spec.kinds[1]: Not found: "nothing"'),
        ({"text": "x", "kinds": ["cm"] * 101}, "spec.kinds: Too many: 101"),
    ],
)
async def test_what_cannot_be_asked(api: Api, spec: dict[str, Any], message: str) -> None:
    status, answer = await api("POST", SEARCHES, {"spec": spec})
    assert (status, answer["reason"]) == (422, "Invalid"), answer
    assert message in answer["message"]


async def test_a_token_is_good_for_its_question(api: Api) -> None:
    for i in range(3):
        await put(api, "configmaps", f"web-{i}")
    token = (await status_of(api, "web", {}, limit=1))["continue"]
    for spec in ({"text": "we", "continue": token}, {"text": "web", "continue": token[:-4]}):
        status, answer = await api("POST", SEARCHES, {"spec": spec})
        assert (status, answer["message"]) == (
            400,
            "invalid continue token: it was not issued for this search",
        )
    assert keys(await status_of(api, "WEB", {}, **{"continue": token})) == [
        ("configmaps", "ns", f"web-{i}") for i in (1, 2)
    ]


async def test_it_says_so_where_something_may_be_missing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_search, "MOST_SINCE", 2)
    for i in range(4):
        await put(api, "configmaps", f"web-{i}")
    status = await status_of(api, "web", {})
    assert status["incomplete"] and "not indexed yet" in status["why"]
    await indexed(api)
    assert len(await search(api, "web")) == 4


async def test_a_table(api: Api) -> None:
    await put(api, "configmaps", "web")
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = await api.ok("POST", SEARCHES, {"spec": {"text": "web"}}, accept=accept)
    assert [c["name"] for c in table["columnDefinitions"]] == [
        "Text",
        "Found",
        "More",
        "Incomplete",
    ]
    assert [row["cells"] for row in table["rows"]] == [["web", 1, False, False]]
