"""An ObjectCount: what lists would have, for whoever may list it.

eve may                                             is told of
nothing                                             nothing
list configmaps in ns                               the ConfigMaps of ns, where ns is asked for
get, watch configmaps                               nothing: she has no list
list configmaps in all namespaces                   all ConfigMaps, and those of each namespace
list events in events.k8s.io                        Events, as those of events.k8s.io
list what a definition makes                        its objects
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.meta.objects import Object
from apiserver.search import counting
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.grants import binding, role, rule
from tests.support.users import RBAC, ROOT, as_user, authorizing
from tests.support.widgets import V1 as WIDGETS
from tests.support.widgets import define, widget

COUNTS = "/apis/search.polyplane.dev/v1/objectcounts"
EVE = as_user("eve")
Name = tuple[str, str]
"""(group, resource)."""
MAPS: Name = ("", "configmaps")


@pytest.fixture
async def world(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """Objects of several kinds, in two namespaces and in none, some of them of a kind that a
    definition makes; users, and RBAC."""
    async with serving(store, tenant) as served:
        await define(served, None)
        authorizing(served)
        core = "/api/v1/namespaces"
        for name in ("ns", "other", "empty"):
            await served.ok("POST", core, {"metadata": {"name": name}}, **ROOT)
        for path, names in (
            (f"{core}/ns/configmaps", "abc"),
            (f"{core}/other/configmaps", "a"),
            (f"{core}/ns/secrets", "ab"),
            (f"{core}/other/serviceaccounts", "a"),
        ):
            for name in names:
                await served.ok("POST", path, {"metadata": {"name": name}}, **ROOT)
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "ns"}}
        await served.ok("POST", f"{core}/ns/events", event, **ROOT)
        await served.ok("POST", WIDGETS, widget("w", host="h", port=1), **ROOT)
        yield served


async def grant(api: Api, rules: list[Object], namespace: str = "", user: str = "eve") -> None:
    where = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
    kind, name = ("Role" if namespace else "ClusterRole"), f"of-{user}"
    await api.ok("POST", f"{where}/{kind.lower()}s", role(name, rules), **ROOT)
    bound = binding(name, name, user, kind=kind)
    await api.ok("POST", f"{where}/{kind.lower()}bindings", bound, **ROOT)


async def status_of(api: Api, headers: dict[str, str], **spec: Any) -> Object:
    review = await api.ok("POST", COUNTS, {"spec": spec}, **headers)
    status: Object = review.get("status") or {}
    return status


def counts(status: Object) -> dict[Name, int]:
    found = status.get("counts", [])
    assert found == sorted(found, key=lambda one: (one.get("group", ""), one["resource"]))
    return {(one.get("group", ""), one["resource"]): one["count"] for one in found}


def hidden(status: Object) -> set[Name]:
    return {(one.get("group", ""), one["resource"]) for one in status.get("hidden", ())}


def named(*names: Name) -> list[Object]:
    return [{"group": group, "resource": resource} for group, resource in names]


async def followed(api: Api) -> None:
    assert await api.registry.store.tallies.follow(api.tenant.id, 100)


# --- what is said ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rules", "bound", "namespace", "told"),
    [
        ([], "", "", {}),
        ([rule("configmaps", ["list"], "")], "ns", "", {}),
        ([rule("configmaps", ["list"], "")], "ns", "ns", {MAPS: 3}),
        ([rule("configmaps", ["list"], "")], "ns", "other", {}),
        ([rule("configmaps", ["get", "watch"], "")], "", "", {}),
        ([rule("configmaps", ["list"], "", resourceNames=["a"])], "", "ns", {}),
        ([rule("configmaps/status", ["list"], "")], "", "", {}),
        ([rule("configmaps", ["list"], "")], "", "", {MAPS: 4}),
        ([rule("configmaps", ["list"], "")], "", "other", {MAPS: 1}),
        ([rule("configmaps", ["list"], "")], "", "empty", {MAPS: 0}),
        ([rule("events", ["list"], "events.k8s.io")], "", "", {("events.k8s.io", "events"): 1}),
        ([rule("namespaces", ["list"], "")], "", "ns", {("", "namespaces"): 3}),
        ([rule("*", ["list"], "example.com")], "", "", {("example.com", "widgets"): 1}),
    ],
)
async def test_who_is_told_what(
    world: Api, rules: list[Object], bound: str, namespace: str, told: dict[Name, int]
) -> None:
    await grant(world, rules, bound)
    for _ in range(2):
        status = await status_of(world, EVE, namespace=namespace)
        assert counts(status) == told
        assert hidden(status) & told.keys() == set()
        assert MAPS in hidden(status) | told.keys(), "what is hidden is said to be so"
        await followed(world)


async def test_every_count_is_that_of_a_list_whoever_asks(world: Api) -> None:
    lists = [
        rule("configmaps secrets namespaces", ["list"], ""),
        rule("widgets", ["list"], "example.com"),
        rule("*", ["list"], "apps"),
        rule("clusterroles", ["list"]),
    ]
    await grant(world, lists, user="ann")
    await grant(world, [rule("*", ["list"], "*")], "ns", user="bob")
    for user in (as_user("ann"), as_user("bob"), ROOT, as_user("nobody")):
        for namespace in ("", "ns", "empty"):
            status = await status_of(world, user, namespace=namespace)
            found = counts(status)
            assert (found, hidden(status)) == await brute_force(world, user, namespace)
            await followed(world)


async def brute_force(
    api: Api, user: dict[str, str], namespace: str
) -> tuple[dict[Name, int], set[Name]]:
    """What lists of all resources have that discovery has, if they can be watched as well; and
    which are refused."""
    found: dict[Name, int] = {}
    refused: set[Name] = set()
    for resource in api.registry.catalog.all(api.tenant):
        version = next(iter(resource.versions.values()))
        if not {"list", "watch"} <= set(version.verbs):
            continue
        root = f"/apis/{resource.group}" if resource.group else "/api"
        within = f"namespaces/{namespace}/" if namespace and resource.namespaced else ""
        path = f"{root}/{version.version}/{within}{resource.resource}"
        status, answer = await api("GET", path, **user)
        name = (resource.group, resource.resource)
        if status == 200:
            found[name] = len(answer["items"])
        else:
            assert status == 403, answer
            refused.add(name)
    return found, refused


async def test_what_is_named_is_counted_and_nothing_else(world: Api) -> None:
    wanted = named(("example.com", "widgets"), MAPS, MAPS)
    status = await status_of(world, ROOT, namespace="ns", resources=wanted)
    assert status == {
        "counts": [
            {"resource": "configmaps", "namespace": "ns", "count": 3},
            {"group": "example.com", "resource": "widgets", "namespace": "ns", "count": 1},
        ]
    }
    await grant(world, [rule("configmaps", ["list"], "")])
    assert await status_of(world, EVE, resources=wanted) == {
        "counts": [{"resource": "configmaps", "count": 4}],
        "hidden": [{"group": "example.com", "resource": "widgets"}],
    }


async def test_a_kind_is_known_as_soon_as_it_is_defined(store: PostgresStore, tenant: int) -> None:
    async with serving(store, tenant) as api:
        wanted = named(("example.com", "widgets"))
        status, answer = await api("POST", COUNTS, {"spec": {"resources": wanted}})
        assert (status, answer["reason"]) == (422, "Invalid")
        await define(api, None)
        assert counts(await status_of(api, {}, resources=wanted)) == {("example.com", "widgets"): 0}


async def test_a_count_follows_each_write(world: Api) -> None:
    path = "/api/v1/namespaces/ns/configmaps"
    for name, number in (("d", 4), ("e", 5)):
        await world.ok("POST", path, {"metadata": {"name": name}}, **ROOT)
        assert counts(await status_of(world, ROOT, resources=named(MAPS), namespace="ns")) == {
            MAPS: number
        }
    await world.ok("DELETE", f"{path}/d", **ROOT)
    assert counts(await status_of(world, ROOT, resources=named(MAPS))) == {MAPS: 5}


async def test_it_is_one_query_and_loads_nothing(
    world: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await followed(world)
    store, queries, loaded = world.registry.store, 0, []
    tallied = store.tallies.of

    async def of(*asked: Any) -> Any:
        nonlocal queries
        queries += 1
        return await tallied(*asked)

    monkeypatch.setattr(store.tallies, "of", of)
    monkeypatch.setattr(store, "snapshot", lambda *asked: loaded.append(asked))
    found = counts(await status_of(world, ROOT))
    assert found[MAPS] == 4 and len(found) > 30
    assert queries == 1 and loaded == []


# --- what cannot be asked -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"namespace": "A'b"}, "spec.namespace: Invalid value"),
        ({"namespace": "\0"}, "spec.namespace: Invalid value"),
        ({"resources": [{"group": "apps"}]}, "spec.resources[0].resource: Required value"),
        ({"resources": [{}]}, "spec.resources[0].resource: Required value"),
        (
            {"resources": named(MAPS, ("", "nothing"))},
            'spec.resources[1]: Not found: "nothing"',
        ),
        (
            {"resources": named(("apps", "configmaps"))},
            'spec.resources[0]: Not found: "configmaps.apps"',
        ),
        ({"resources": named(("", "bindings"))}, "spec.resources[0]: Forbidden"),
        ({"resources": named(("", "componentstatuses"))}, "spec.resources[0]: Forbidden"),
        (
            {"resources": named(("history.polyplane.dev", "revisions"))},
            "spec.resources[0]: Forbidden",
        ),
        (
            {"resources": named(*[MAPS] * (counting.MOST_NAMED + 1))},
            "spec.resources: Too many: 1001: must have at most 1000 items",
        ),
    ],
)
async def test_what_cannot_be_asked(world: Api, spec: Object, message: str) -> None:
    status, answer = await world("POST", COUNTS, {"spec": spec}, **EVE)
    assert (status, answer["reason"]) == (422, "Invalid"), answer
    assert message in answer["message"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"spec": {"namespace": 1}}, 400),
        ({"spec": {"resources": "configmaps"}}, 400),
        ({"spec": {"resources": ["configmaps"]}}, 400),
        ({"spec": {"resources": [None]}}, 422),
        ({"spec": {"resources": [{"resource": "\ud800"}]}}, 422),
        (b"{", 400),
    ],
)
async def test_what_is_no_question(world: Api, body: Any, code: int) -> None:
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    status, answer = await world("POST", COUNTS, body, **ROOT)
    assert status == code, answer


async def test_a_question_without_a_spec_is_for_all(world: Api) -> None:
    review = await world.ok("POST", COUNTS, {}, **ROOT)
    assert counts(review["status"])[MAPS] == 4
    assert review["kind"] == "ObjectCount"


async def test_it_is_created_and_nothing_else(world: Api) -> None:
    assert (await world("GET", COUNTS, **ROOT))[0] == 405
    assert (await world("POST", COUNTS, {}))[0] == 403, "who is not known is told nothing"


async def test_a_table(world: Api) -> None:
    await grant(world, [rule("configmaps", ["list"], "")])
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    spec = {"namespace": "ns", "resources": named(MAPS, ("", "secrets"))}
    table = await world.ok("POST", COUNTS, {"spec": spec}, accept=accept, **EVE)
    assert [c["name"] for c in table["columnDefinitions"]] == ["Namespace", "Resources", "Hidden"]
    assert [row["cells"] for row in table["rows"]] == [["ns", 1, 1]]
