"""As of: what there was at a time or at a version, compared with what was there then."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apiserver.history import listing
from apiserver.history.visit import Visit
from apiserver.meta.gvk import GroupResource
from apiserver.storage.compact import compact
from apiserver.storage.postgres import PostgresStore
from tests.apiserver.history.asking import (
    CONFIG_MAPS,
    ROOT,
    SECRETS,
    SHOP,
    config_map,
    listed,
    selecting,
    three_versions,
)
from tests.support.api import Api

State = dict[str, Any]


def objects(revisions: list[Any]) -> State:
    return {f"{r['resource']}/{r['objectRef']['name']}": r["object"] for r in revisions}


async def now(api: Api) -> tuple[str, State]:
    maps, secrets = await api.ok("GET", CONFIG_MAPS), await api.ok("GET", SECRETS)
    state = {f"configmaps/{o['metadata']['name']}": o for o in maps["items"]}
    state |= {f"secrets/{o['metadata']['name']}": o for o in secrets["items"]}
    return secrets["metadata"]["resourceVersion"], state


def plain(state: State) -> State:
    """Items of lists say no kind."""
    return {
        name: {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}
        for name, obj in state.items()
    }


async def write(api: Api, chance: random.Random) -> None:
    kind, name = chance.choice((CONFIG_MAPS, SECRETS)), f"n{chance.randint(1, 4)}"
    if (await api("GET", f"{kind}/{name}"))[0] == 404:
        label = {"app": chance.choice("xy")}
        await api.ok("POST", kind, {"metadata": {"name": name, "labels": label}})
    elif chance.random() < 0.5:
        note = {"annotations": {"n": str(chance.random())}}
        await api.patch(f"{kind}/{name}", {"metadata": note})
    else:
        await api.ok("DELETE", f"{kind}/{name}")


@pytest.mark.parametrize("seed", range(3))
async def test_a_namespace_as_of_every_version_is_what_it_was(
    api: Api, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_BATCH", 2)
    chance = random.Random(seed)
    states = []
    for _ in range(25):
        await write(api, chance)
        states.append(await now(api))
    assert any(state for _, state in states)
    for version, state in chance.sample(states, 8):
        found = await listed(api, f"{selecting(SHOP, asOf=version)}&limit={chance.randint(1, 5)}")
        assert plain(objects(found)) == plain(state)
        some = await listed(api, selecting(SHOP, "app=x", resource="secrets", asOf=version))
        wanted = {
            name: obj
            for name, obj in state.items()
            if name.startswith("secrets/") and obj["metadata"]["labels"]["app"] == "x"
        }
        assert plain(objects(some)) == plain(wanted)


async def test_one_object_as_of_a_version(api: Api) -> None:
    one, two, _ = await three_versions(api)
    await api.ok("DELETE", f"{CONFIG_MAPS}/web")
    last = (await listed(api, SHOP))[0]["metadata"]["name"]

    async def then(version: str) -> list[Any]:
        path = selecting(SHOP, resource="configmaps", name="web", asOf=version)
        return [r["object"]["data"] for r in await listed(api, path)]

    assert await then(one) == [{"a": "1"}]
    assert await then(two) == [{"a": "2"}]
    assert await then(last) == []


async def test_as_of_a_time(api: Api) -> None:
    versions = await three_versions(api)
    found = {r["metadata"]["name"]: r["time"] for r in await listed(api, SHOP)}
    for version, data in zip(versions, ({"a": "1"}, {"a": "2"}, {"a": "2", "b": "1"}), strict=True):
        (then,) = await listed(api, selecting(SHOP, asOf=found[version]))
        assert (then["object"]["data"], then["metadata"]["name"]) == (data, version)
    (latest,) = await listed(api, selecting(SHOP, asOf="2100-01-01T00:00:00Z"))
    assert latest["metadata"]["name"] == versions[-1]


async def test_what_is_not_retained_is_gone(api: Api, store: PostgresStore, tenant: int) -> None:
    one, two, three = await three_versions(api)
    await compact(store.database, tenant, int(two))
    named = {"resource": "configmaps", "name": "web"}
    for then in one, "2001-01-01T00:00:00Z":
        for path in selecting(SHOP, asOf=then), selecting(SHOP, asOf=then, **named):
            status, found = await api("GET", path)
            assert (status, found["reason"]) == (410, "Expired"), path
    status, found = await api("GET", selecting(SHOP, asOf=str(int(three) + 100)))
    assert status == 504
    revisions = await listed(api, SHOP)
    assert [r["metadata"]["name"] for r in revisions] == [three, two]
    assert [r.get("oldest") for r in revisions] == [None, True]
    assert (await api("GET", f"{SHOP}/{one}"))[0] == 404
    status, found = await api("GET", f"{SHOP}/{two}/diff")
    assert (status, found["reason"]) == (410, "Expired")


async def test_objects_are_read_many_at_a_time_while_they_are_small(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_BATCH", 2)
    monkeypatch.setattr(listing, "_BATCHES", 5)
    monkeypatch.setattr(listing, "_BATCH_BYTES", 20_000)
    for i in range(14):  # seven small ones, then large ones
        made = config_map(f"n{i:02}", a="x" if i < 7 else "x" * 10_000)
        version = (await api.ok("POST", CONFIG_MAPS, made))["metadata"]["resourceVersion"]
    asked: list[int] = []
    read = PostgresStore.list

    async def noted(store: PostgresStore, *args: Any, **options: Any) -> Any:
        asked.append(options["limit"])
        return await read(store, *args, **options)

    monkeypatch.setattr(PostgresStore, "list", noted)
    found = await listed(api, selecting(SHOP, resource="configmaps", asOf=version))
    assert [f["objectRef"]["name"] for f in found] == [f"n{i:02}" for i in range(14)]
    assert asked == [2, 5, 5, 1, 1], "those before tell how many are next"


async def test_no_state_has_the_version_zero(api: Api) -> None:
    """Elsewhere that means any: its pages would never end."""
    await three_versions(api)
    status, found = await api("GET", selecting(SHOP, asOf="0"))
    assert (status, found["reason"]) == (400, "BadRequest")
    assert found["message"].startswith("asOf is a time or a resourceVersion")


async def test_a_kind_that_is_hidden_between_two_pages_hides_no_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        await api.ok("POST", CONFIG_MAPS, config_map(name))
        await api.ok("POST", SECRETS, {"metadata": {"name": name}})
    version = (await api.ok("GET", SECRETS))["metadata"]["resourceVersion"]
    path = selecting(SHOP, asOf=version)
    page = await api.ok("GET", f"{path}&limit=1")
    assert [found["resource"] for found in page["items"]] == ["configmaps"]
    may = Visit.may

    async def hidden(visit: Visit, verb: str, resource: GroupResource, *where: str) -> bool:
        return resource.resource != "configmaps" and await may(visit, verb, resource, *where)

    monkeypatch.setattr(Visit, "may", hidden)
    rest = await listed(api, f"{path}&limit=1", after=page["metadata"]["continue"])
    assert {"secrets/a", "secrets/b"} <= objects(rest).keys()
    assert not any(found["resource"] == "configmaps" for found in rest)


async def test_across_namespaces(api: Api) -> None:
    await api.ok("POST", CONFIG_MAPS, config_map("a"))
    made = await api.ok("POST", CONFIG_MAPS.replace("shop", "zoo"), config_map("b"))
    version = made["metadata"]["resourceVersion"]
    path = selecting(f"{ROOT}/revisions", resource="configmaps", asOf=version)
    found = await listed(api, f"{path}&limit=1")
    assert [r["metadata"]["namespace"] for r in found] == ["shop", "zoo"]
