"""Lists by declared fields are what somebody finds who looks at each object, whatever the index
says: whether it is made, behind, or of another state."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.meta.fieldpaths import value_at
from apiserver.meta.gvk import GroupResource
from apiserver.registry import answers, indexes
from apiserver.search.fieldindexer import follow
from apiserver.storage import fields as storage_fields
from apiserver.storage import tenants
from apiserver.storage.fields import Field
from apiserver.storage.interface import Store
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.storage import numbers
from tests.support.widgets import CRD, V1, define, widget

MAPS = GroupResource("", "configmaps")
COLOUR, SIZE = Field(MAPS, "data.colour"), Field(MAPS, "data.size")
EVERYWHERE = "/api/v1/configmaps"
INDEXES = "/apis/search.polyplane.dev/v1/fieldindexes"
NAMESPACES = ("a", "a-b", "b")
COLOURS = ("", "red", "blue", "x" * 400, "x" * 400 + "y")


def index(name: str, path: str, resource: str = "configmaps", group: str = "") -> Any:
    spec = {"group": group, "resource": resource, "path": path}
    return {"metadata": {"name": name}, "spec": spec}


async def declare(api: Api, *fields: Field) -> None:
    """As clients and the controller do it together."""
    for field in fields:
        name = field.path.lower().replace(".", "-")
        await api.ok("POST", INDEXES, index(name, field.path, field.resource.resource))
    await api.registry.store.fields.declare(api.tenant.id, fields)


async def followed(api: Api) -> None:
    assert await follow(api.registry.store.fields, api.tenant.id, 100)


def config_map(name: str, colour: str, size: str = "1") -> Any:
    data = {"size": size, **({"colour": colour} if colour else {})}
    return {"metadata": {"name": name}, "data": data}


async def ask(api: Api, path: str = EVERYWHERE, **query: Any) -> Any:
    return await api.ok("GET", f"{path}?{urlencode(query, doseq=True)}")


def keys(listing: Any) -> list[tuple[str, str]]:
    return [(o["metadata"]["namespace"], o["metadata"]["name"]) for o in listing["items"] or ()]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Indexes are asked however few objects there are; what they have answered."""
    told: list[object] = []
    candidates = indexes.candidates

    async def asked(*args: Any, **options: Any) -> Any:
        told.append(await candidates(*args, **options))
        return told[-1]

    monkeypatch.setattr(answers, "FEW", 0)
    monkeypatch.setattr(indexes, "candidates", asked)
    return told


# --- exact ----------------------------------------------------------------------------------------
STEP = st.tuples(
    st.sampled_from(("write", "write", "write", "delete", "index", "list")),
    st.sampled_from(NAMESPACES),
    st.sampled_from("pqrstu"),
    st.sampled_from(COLOURS),
)


@pytest.mark.parametrize("most", [1, 2, 20_000])
def test_what_is_listed_is_what_matches(
    runner: asyncio.Runner,
    shared_store: PostgresStore,
    few: list[object],
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(storage_fields, "MOST", most)

    async def live(number: int, steps: list[Any]) -> None:
        async with serving(shared_store, number) as api:
            await _random_life(api, steps)

    @settings(max_examples=10, suppress_health_check=list(HealthCheck))
    @given(st.lists(STEP, min_size=8, max_size=40))
    def check(steps: list[tuple[str, str, str, str]]) -> None:
        number = next(numbers)
        tenants.create(number)
        runner.run(live(number, steps))
        tenants.drop(number)

    check()


async def _random_life(api: Api, steps: list[tuple[str, str, str, str]]) -> None:
    await declare(api, COLOUR)
    pages: list[tuple[str, list[Any], Any]] = []
    for what, namespace, name, colour in steps:
        here = f"/api/v1/namespaces/{namespace}/configmaps"
        if what == "write":
            status, _ = await api("PUT", f"{here}/{name}", config_map(name, colour))
            if status == 404:
                await api.ok("POST", here, config_map(name, colour))
        elif what == "delete":
            await api("DELETE", f"{here}/{name}")
        elif what == "index":
            await followed(api)
        else:
            await _compare(api, here, colour)
            pages.append(await _first_page(api, colour or "red"))
    await _compare(api, EVERYWHERE, "red")
    for colour, expected, token in pages:
        await _same_to_the_end(api, colour, expected, token)


async def _compare(api: Api, path: str, colour: str) -> None:
    everything = (await api.ok("GET", path))["items"]
    same = [o for o in everything if value_at(o, "data.colour") == colour]
    others = [o for o in everything if value_at(o, "data.colour") != colour]
    selector = {"fieldSelector": f"data.colour={colour}"}
    assert (await ask(api, path, **selector))["items"] == same
    assert (await ask(api, path, fieldSelector=f"data.colour!={colour}"))["items"] == others
    counted = await ask(api, path, **selector, count="only")
    assert counted["metadata"].get("remainingItemCount", 0) == len(same)
    back = await ask(api, path, **selector, sortBy=["-.metadata.namespace", "-.metadata.name"])
    order = [(o["metadata"]["namespace"], o["metadata"]["name"]) for o in same]
    assert keys(back) == sorted(order, reverse=True)
    if colour:
        filtered = await ask(api, path, filter=f"self.data.colour == '{colour}'")
        assert filtered["items"] == same


async def _first_page(api: Api, colour: str) -> tuple[str, list[Any], Any]:
    """(colour, what is behind the first object of that colour, the token that leads there)."""
    whole = await ask(api, fieldSelector=f"data.colour={colour}")
    first = await ask(api, fieldSelector=f"data.colour={colour}", limit=1)
    assert first["items"] == whole["items"][:1]
    return colour, whole["items"][1:], first["metadata"].get("continue")


async def _same_to_the_end(api: Api, colour: str, expected: list[Any], token: str | None) -> None:
    """Pages are of the state of the first one, whatever was written and indexed since."""
    behind: list[Any] = []
    while token:
        query = {"fieldSelector": f"data.colour={colour}", "limit": 1, "continue": token}
        page = await ask(api, **query)
        behind += page["items"]
        token = page["metadata"].get("continue")
    assert behind == expected


async def test_a_page_is_of_its_state_however_far_the_index_is(api: Api, few: list[Any]) -> None:
    await declare(api, COLOUR)
    here = "/api/v1/namespaces/a/configmaps"
    for name in "pqr":
        await api.ok("POST", here, config_map(name, "red"))
    await followed(api)
    query = {"fieldSelector": "data.colour=red", "limit": 1}
    token = (await ask(api, **query))["metadata"]["continue"]
    await api.ok("PUT", f"{here}/q", config_map("q", "blue"))
    await api.ok("DELETE", f"{here}/r")
    await api.ok("POST", here, config_map("s", "red"))
    await followed(api)
    page = await ask(api, **query | {"limit": 5, "continue": token})
    assert [o["data"]["colour"] for o in page["items"]] == ["red", "red"]
    assert keys(page) == [("a", "q"), ("a", "r")] and few[-1] is not None


# --- use ------------------------------------------------------------------------------------------
async def test_an_index_leaves_few_objects_to_look_at(api: Api, few: list[Any]) -> None:
    await declare(api, COLOUR, SIZE)
    for i in range(30):
        colour = "red" if i < 3 else "blue"
        made = config_map(f"m{i:02}", colour, "7" if i % 2 else "8")
        await api.ok("POST", "/api/v1/namespaces/a/configmaps", made)
    await followed(api)
    wanted = [("a", "m00"), ("a", "m01"), ("a", "m02")]
    assert keys(await ask(api, fieldSelector="data.colour=red")) == wanted
    assert len(few[-1].keys) == 3
    # of two, the one that leaves fewer; and a filter is asked, too
    both = await ask(api, filter="self.data.size == '7' && 'red' == self.data.colour")
    assert keys(both) == [("a", "m01")] and len(few[-1].keys) == 3
    either = await ask(api, filter="self.data.colour in ['red', 'green']")
    assert keys(either) == wanted and len(few[-1].keys) == 3
    for expression in ("self.data.colour == 'red' || false", "self.data.colour != 'blue'"):
        assert keys(await ask(api, filter=expression)) == wanted
        assert few[-1] is None


async def test_too_much_that_is_not_indexed_is_looked_through(
    api: Api, few: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_fields, "MOST_SINCE", 2)
    await declare(api, COLOUR)
    await followed(api)
    for i in range(4):
        made = config_map(f"m{i}", "red")
        await api.ok("POST", "/api/v1/namespaces/a/configmaps", made)
    assert len(keys(await ask(api, fieldSelector="data.colour=red"))) == 4
    assert few[-1] is None
    await followed(api)
    assert len(keys(await ask(api, fieldSelector="data.colour=red"))) == 4
    assert len(few[-1].keys) == 4


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_what_reading_puts_in_is_seen(api: Api, few: list[Any], version: str) -> None:
    """The request's version and the object's stand in no index."""
    await define(api, None)
    made = await api.ok("POST", V1, widget("w", replicas=1))
    resource = GroupResource("example.com", "widgets")
    paths = {
        "apiVersion": f"example.com/{version}",
        "metadata.resourceVersion": made["metadata"]["resourceVersion"],
    }
    for path in paths:
        name = path.lower()
        await api.ok("POST", INDEXES, index(name, path, *reversed(resource)))
    await api.registry.store.fields.declare(api.tenant.id, [Field(resource, p) for p in paths])
    await followed(api)
    here = V1.replace("v1", version)
    for path, value in paths.items():
        assert keys(await ask(api, here, fieldSelector=f"{path}={value}")) == [("ns", "w")]
        assert keys(await ask(api, here, filter=f"self.{path} == '{value}'")) == [("ns", "w")]
        assert keys(await ask(api, here, fieldSelector=f"{path}=other")) == []


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_default_that_came_later_is_seen(api: Api, few: list[Any], version: str) -> None:
    """What reading fills in stands in no index."""
    await define(api, None)
    await api.ok("POST", V1, widget("w", replicas=1))
    resource = GroupResource("example.com", "widgets")
    for name in ("host", "replicas"):
        await api.ok("POST", INDEXES, index(name, f"spec.{name}", "widgets", "example.com"))
    both = [Field(resource, "spec.host"), Field(resource, "spec.replicas")]
    await api.registry.store.fields.declare(api.tenant.id, both)
    await followed(api)
    path = V1.replace("v1", version)
    assert keys(await ask(api, path, fieldSelector="spec.replicas=1")) == [("ns", "w")]
    assert len(few[-1].keys) == 1
    assert keys(await ask(api, path, fieldSelector="spec.host=here")) == []
    await _default(api)
    assert keys(await ask(api, path, fieldSelector="spec.host=here")) == [("ns", "w")]
    assert keys(await ask(api, path, filter="self.spec.host == 'here'")) == [("ns", "w")]


async def _default(api: Api) -> None:
    """Both versions know the host; that in which objects are stored has a default."""
    definition = await api.ok("GET", CRD)
    for entry in definition["spec"]["versions"]:
        props = entry["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        props["host"] = {"type": "string"}
        if entry["storage"]:
            props["host"]["default"] = "here"
    changed = await api.ok("PUT", CRD, definition)
    wanted = int(changed["metadata"]["resourceVersion"])

    def seen() -> bool:
        known = api.catalog.definitions(api.tenant)["widgets.example.com"]
        return known.entry.resource_version >= wanted

    await api.until(seen)


# --- selectors ------------------------------------------------------------------------------------
async def test_a_field_that_nobody_declared_is_refused(api: Api) -> None:
    path = f"{EVERYWHERE}?fieldSelector=data.colour%3Dred"
    status, refusal = await api("GET", path)
    assert status == 400
    assert 'is not a known field selector: only "metadata.name"' in refusal["message"]
    plain = refusal["message"]
    assert "FieldIndexes" not in plain, "then it is kube-apiserver's text"
    await declare(api, SIZE, Field(GroupResource("", "pods"), "spec.nodeName"))
    status, refusal = await api("GET", path)
    assert status == 400
    assert refusal["message"] == f'{plain}; declared by FieldIndexes: "data.size"'
    assert (await api("DELETE", path.replace("v1/", "v1/namespaces/a/")))[0] == 400


async def test_a_field_that_the_kind_knows_stays_the_kinds(api: Api, few: list[Any]) -> None:
    await declare(api, Field(GroupResource("", "pods"), "status.phase"))
    assert (await ask(api, "/api/v1/pods", fieldSelector="status.phase=Running"))["items"] == []
    assert few == []


async def test_a_collection_is_deleted_by_a_declared_field(api: Api) -> None:
    await declare(api, COLOUR)
    here = "/api/v1/namespaces/a/configmaps"
    for name, colour in (("p", "red"), ("q", "blue"), ("r", "red")):
        await api.ok("POST", here, config_map(name, colour))
    gone = await api.ok("DELETE", f"{here}?fieldSelector=data.colour%3Dred")
    assert keys(gone) == [("a", "p"), ("a", "r")]
    assert keys(await ask(api, here)) == [("a", "q")]


async def test_a_watch_sees_what_enters_and_what_leaves(api: Api) -> None:
    await declare(api, COLOUR)
    here = "/api/v1/namespaces/a/configmaps"
    await api.ok("POST", here, config_map("p", "blue"))
    await api.ok("POST", here, config_map("q", "red"))
    watch = api.watch(
        f"{EVERYWHERE}?watch=true&fieldSelector=data.colour%3Dred,metadata.namespace%3Da"
    )
    try:
        assert [e["object"]["metadata"]["name"] for e in await watch.take(1)] == ["q"]
        await api.ok("PUT", f"{here}/p", config_map("p", "red"))
        await api.ok("PUT", f"{here}/q", config_map("q", "green"))
        events = [(e["type"], e["object"]["metadata"]["name"]) for e in await watch.take(2)]
        assert events == [("ADDED", "p"), ("DELETED", "q")]
    finally:
        await watch.stop()


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"resource": "secrets", "path": "data.password"}, "what is in Secrets is not indexed"),
        ({"resource": "pods", "path": "metadata.name"}, "all field selectors know it"),
        ({"resource": "pods", "path": ".spec.x"}, "must be names of members joined by dots"),
        ({"resource": "pods", "path": "spec.a=b"}, "must be names of members joined by dots"),
        ({"resource": "pods", "path": "spec.*"}, "must be names of members joined by dots"),
        ({"resource": "pods", "path": "a" * 257}, "must be names of members joined by dots"),
        ({"resource": "pods"}, "spec.path: Required value"),
        ({"path": "spec.x"}, "spec.resource: Required value"),
        ({"resource": "Pods/log", "path": "spec.x"}, "spec.resource: Invalid value"),
        ({"group": "A B", "resource": "pods", "path": "spec.x"}, "spec.group: Invalid value"),
    ],
)
async def test_what_cannot_be_declared(api: Api, spec: Any, text: str) -> None:
    status, refusal = await api("POST", INDEXES, {"metadata": {"name": "x"}, "spec": spec})
    assert status == 422 and text in refusal["message"]


# --- the database ---------------------------------------------------------------------------------
async def test_a_declaration_that_goes_takes_its_entries(
    store: Store, tenant: int, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await declare(api, COLOUR, SIZE)
    for name in "pq":
        await api.ok("POST", "/api/v1/namespaces/a/configmaps", config_map(name, "red"))
    await followed(api)
    monkeypatch.setattr(storage_fields, "_FORGOTTEN", 1)
    assert await store.fields.declare(tenant, [SIZE]) == {SIZE}
    assert [await store.fields.forget(tenant) for _ in range(3)] == [True, True, False]
    options: Any = {"namespace": "", "at": 10**9, "after": None}
    assert await store.fields.candidates(tenant, COLOUR, ["red"], **options) is None
    found = await store.fields.candidates(tenant, SIZE, ["1"], **options)
    assert found is not None and len(found.keys) == 2


async def test_an_index_is_built_when_it_has_what_was_there(
    store: Store, tenant: int, api: Api
) -> None:
    await api.ok("POST", "/api/v1/namespaces/a/configmaps", config_map("p", "red"))
    assert await store.fields.declare(tenant, [COLOUR]) == frozenset()
    assert await store.fields.behind(10**6) != []
    await followed(api)
    assert await store.fields.declare(tenant, [COLOUR]) == {COLOUR}


async def test_two_that_index_at_once_do_each_other_no_harm(
    store: Store, tenant: int, api: Api
) -> None:
    await declare(api, COLOUR)
    for i in range(20):
        await api.ok("POST", "/api/v1/namespaces/a/configmaps", config_map(f"m{i}", "red"))
    await asyncio.gather(*(follow(store.fields, tenant, 100) for _ in range(4)))
    await followed(api)
    assert len(keys(await ask(api, fieldSelector="data.colour=red"))) == 20
