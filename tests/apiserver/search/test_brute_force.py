"""A search finds exactly what somebody finds who lists all that he may and looks at each object.

Random objects, rights and texts; some of the objects are in the index, some came after it, some
were changed or deleted since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.authz.attributes import Attributes, Decision
from apiserver.search import searching
from apiserver.search.indexer import Indexer
from apiserver.search.words import AREAS
from apiserver.storage import search as storage_search
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.searches import brute_force, listed, search
from tests.support.storage import numbers

NAMESPACES = ("a", "b", "a-b")
PLACES = [
    *(("api/v1", f"namespaces/{n}/{r}") for n in NAMESPACES for r in ("configmaps", "secrets")),
    ("api/v1", "namespaces"),
    *(("apis/apps/v1", f"namespaces/{n}/controllerrevisions") for n in NAMESPACES),
]
WORDS = [
    "web",
    "we",
    "b",
    "Straße",
    "STRASSE",
    "1.5",
    "15",
    "a_b",
    "ab",
    "字",
    "字web",
    "%",
    "'",
    "\\",
]
TEXT = st.lists(st.sampled_from([*WORDS, " ", "-", "/", "=", "x" * 50]), max_size=5).map("".join)
NAME = st.sampled_from(["web", "web-1", "cobweb", "we-b", "b.web", "x"])
WHOLE = [("api/v1", "configmaps"), ("api/v1", "secrets")]
RIGHTS = st.sets(st.sampled_from([*PLACES, *WHOLE]))


@st.composite
def objects(draw: Callable[..., Any]) -> tuple[str, str, dict[str, Any]]:
    """(list, name, body)."""
    root, path = draw(st.sampled_from(PLACES))
    metadata: dict[str, Any] = {
        "name": draw(NAME).replace(".", "-" if path == "namespaces" else ".")
    }
    if draw(st.booleans()):
        metadata["annotations"] = {"note": draw(TEXT)}
    if draw(st.booleans()):
        metadata["labels"] = {"app": draw(NAME)}
    body: dict[str, Any] = {"metadata": metadata}
    if path.endswith("configmaps"):
        body["data"] = {"k": draw(TEXT), "app.conf": draw(TEXT)}
    elif path.endswith("secrets"):
        body["stringData"] = {"web": draw(TEXT)}
    elif path.endswith("revisions"):
        body |= {"revision": draw(st.sampled_from([1, 15])), "data": {"deep": [{"er": draw(TEXT)}]}}
    return f"/{root}/{path}", metadata["name"], body


class Lists:
    """An authorizer that allows the lists it is told, and all that is no list."""

    def __init__(self, allowed: set[tuple[str, str]]) -> None:
        self._allowed = allowed

    async def authorize(self, _: Any, asked: Attributes) -> Decision:
        if asked.verb != "list":
            return Decision(True)
        root = f"apis/{asked.group}/{asked.version}" if asked.group else f"api/{asked.version}"
        below = f"namespaces/{asked.namespace}/" if asked.namespace else ""
        everywhere, here = (root, asked.resource), (root, f"{below}{asked.resource}")
        return Decision(bool({everywhere, here} & self._allowed))


async def fill(api: Api, some: list[tuple[str, str, dict[str, Any]]]) -> None:
    for path, name, body in some:
        status, answer = await api("POST", path, body)
        if status == 409:
            changed = body if "revision" not in body else {"metadata": body["metadata"]}
            status, answer = await api(
                "PATCH", f"{path}/{name}", changed, "application/merge-patch+json"
            )
        assert status < 300, answer


@pytest.mark.parametrize(("walk", "gathered"), [(1, 1), (1, 3), (5, 1000), (2000, 1)])
def test_a_search_is_a_look_at_all_lists(
    runner: asyncio.Runner,
    shared_store: PostgresStore,
    walk: int,
    gathered: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(storage_search, "WALK", walk)
    monkeypatch.setattr(storage_search, "MOST_GATHERED", gathered)
    monkeypatch.setattr(searching, "BATCH", 3)

    drawn = st.tuples(
        st.lists(objects(), min_size=4, max_size=12),
        st.lists(objects(), max_size=6),
        RIGHTS,
        st.lists(TEXT.filter(str.strip), min_size=3, max_size=3),
        st.sets(st.sampled_from(AREAS), min_size=1),
    )

    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(drawn)
    def check(world: Any) -> None:
        number = next(numbers)
        tenants.create(number)
        runner.run(compare(shared_store, number, *world))
        tenants.drop(number)

    check()


async def compare(
    store: PostgresStore,
    number: int,
    before: list[Any],
    after: list[Any],
    rights: set[tuple[str, str]],
    asked: list[str],
    areas: set[str],
) -> None:
    async with serving(store, number) as api:
        await fill(api, before)
        assert await Indexer(store).index(number, 100)
        await fill(api, after)
        await api("DELETE", f"{before[0][0]}/{before[0][1]}")
        api.server.authorizer = cast(Any, Lists(rights))
        shown = await listed(api, [*PLACES, *WHOLE])
        for text in [*asked, "web", "字", "strasse 1", "app=w", "app=web-", "app=web-1 "]:
            expected = brute_force(shown, text, sorted(areas))
            assert await search(api, text, limit=2, **{"in": sorted(areas)}) == expected, text
