"""What is in the table after a request: one complete entry for each version, none for a write that
failed, and never a secret."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import orjson
import pytest
import pytest_asyncio

from admission.attributes import Attributes as Admission
from admission.chain import Chain
from apiserver.audit import counts
from apiserver.audit.policy import parse
from apiserver.audit.recorder import Recorder
from apiserver.audit.trail import Trail
from apiserver.errors import Forbidden
from apiserver.meta import features
from apiserver.request import parse_request
from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, serving
from tests.support.auditrows import rows
from tests.support.auditworld import MAPS, World
from tests.support.storage import create, key

SECRETS = "/api/v1/namespaces/ns/secrets"
_INFO = parse_request("POST", MAPS)
VALUE = "aHVudGVyMi1odW50ZXIy"
NOTHING = parse({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "None"}]})


@pytest_asyncio.fixture
async def world(store: PostgresStore, tenant: int) -> AsyncIterator[World]:
    async with serving(store, tenant) as api:
        made = World(api, store, Recorder().policy)
        yield made
        await made.log.close()


async def test_each_version_has_one_entry_that_says_who(world: World) -> None:
    assert await world("POST", MAPS, {"metadata": {"generateName": "a-"}}) == 201
    name = (await world.entries())[0]["name"]
    assert await world("PATCH", f"{MAPS}/{name}", {"data": {"a": "b"}}, type=TYPES["merge"]) == 200
    assert await world("DELETE", f"{MAPS}/{name}") == 200
    entries = await world.entries()
    head = await world.head()
    assert [(e["verb"], e["code"], e["version"]) for e in entries] == [
        ("create", 201, head - 2),
        ("patch", 200, head - 1),
        ("delete", 200, head),
    ]
    assert {(e["user"], e["resource"], e["namespace"], e["name"]) for e in entries} == {
        ("ann", "configmaps", "ns", name)
    }
    event = entries[0]["data"]
    assert event["user"] == {"username": "ann", "uid": "uid-ann", "groups": ["devs"]}
    assert event["userAgent"] == "test/1" and event["requestURI"] == MAPS
    assert event["stage"] == "ResponseComplete" and event["responseStatus"]["code"] == 201
    assert event["objectRef"].items() >= {"resource": "configmaps", "name": name}.items()
    assert event["annotations"] == {
        "tenancy.polyplane.dev/tenant": "default",
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "because of ann",
        "audit.polyplane.dev/field-manager": "test",
    }
    assert "requestObject" not in event


async def test_what_failed_has_no_version_and_says_so(world: World) -> None:
    assert await world("POST", MAPS, {"metadata": {"name": "a"}}) == 201
    head = await world.head()
    assert await world("POST", MAPS, {"metadata": {"name": "a"}}) == 409
    assert await world("POST", MAPS, {"metadata": {"name": "No"}}) == 422
    assert await world("POST", MAPS, b"{") == 400
    assert (
        await world("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": "1"}}) == 409
    )
    assert await world("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}}) == 201
    entries = await world.entries()
    assert [(e["code"], e["version"]) for e in entries][1:] == [
        (409, 0),
        (422, 0),
        (400, 0),
        (409, 0),
        (201, 0),
    ]
    assert await world.head() == head
    assert entries[1]["data"]["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "a" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "a", "kind": "configmaps"},
        "code": 409,
    }
    (cause,) = entries[2]["data"]["responseStatus"]["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "metadata.name")


async def test_refusals_and_unknown_tokens_are_kept_whatever_the_policy_says(
    store: PostgresStore, tenant: int
) -> None:
    async with serving(store, tenant) as api:
        world = World(api, store, NOTHING)
        assert await world("GET", MAPS, user="bob") == 403
        assert await world("GET", MAPS, user="eve") == 401
        assert await world("POST", MAPS, {"metadata": {"name": "a"}}, user="bob") == 403
        assert await world("POST", MAPS, {"metadata": {"name": "a"}}) == 201
        assert await world("GET", MAPS) == 200
        entries = await world.entries()
        found = [(e["user"], e["verb"], e["code"], e["version"]) for e in entries]
        assert found == [("bob", "list", 403, 0), ("", "list", 401, 0), ("bob", "create", 403, 0)]
        assert entries[0]["data"]["level"] == "Metadata"
        assert entries[0]["data"]["annotations"]["authorization.k8s.io/decision"] == "forbid"
        assert world.heard.events == []


async def test_an_entry_names_both_users_of_an_impersonation(world: World) -> None:
    headers = {"impersonate_user": "jane", "impersonate_group": "ops"}
    assert await world("POST", MAPS, {"metadata": {"name": "a"}}, **headers) == 201
    (entry,) = await world.entries()
    assert entry["user"] == "ann"
    assert entry["data"]["impersonatedUser"]["username"] == "jane"
    by = {"impersonationConstraint": "impersonate:user-info"}
    assert entry["data"]["authenticationMetadata"] == by


async def test_what_lets_somebody_impersonate_is_told_where_it_is_constrained(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(features.ENABLED, "ConstrainedImpersonation", False)
    assert await world("POST", MAPS, {"metadata": {"name": "a"}}, impersonate_user="jane") == 201
    (entry,) = await world.entries()
    assert entry["data"]["impersonatedUser"]["username"] == "jane"
    assert "authenticationMetadata" not in entry["data"]


async def test_each_object_of_a_collection_has_its_own_entry(world: World) -> None:
    for number in range(3):
        assert await world("POST", MAPS, {"metadata": {"name": f"m{number}"}}) == 201
    assert await world("DELETE", MAPS) == 200
    entries = await world.entries(verb="deletecollection")
    assert [e["name"] for e in entries] == ["m0", "m1", "m2"]
    assert len({e["data"]["auditID"] for e in entries}) == 1
    assert len({e["version"] for e in entries}) == 3


async def test_a_collection_that_is_refused_in_the_middle_has_an_entry_of_that(
    world: World,
) -> None:
    for name in ("a", "refused"):
        assert await world("POST", MAPS, {"metadata": {"name": name}}) == 201
    world.api.registry.chain = Chain([cast(Any, Keeping())])
    assert await world("DELETE", MAPS) == 403
    entries = await world.entries(verb="deletecollection")
    told = {(e["name"], e["code"], e["version"] > 0) for e in entries}
    assert told == {("a", 200, True), ("", 403, False)}
    assert len({e["data"]["auditID"] for e in entries}) == 1


async def test_what_nobody_names_is_the_servers(
    world: World, store: PostgresStore, tenant: int
) -> None:
    version = await store.write(tenant, create(key("direct", "ns")))
    (entry,) = await world.entries()
    assert (entry["user"], entry["version"]) == ("system:apiserver", version)


async def test_levels_keep_bodies_without_managed_fields(full: World) -> None:
    assert await full("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}) == 201
    assert await full("GET", f"{MAPS}/a") == 200
    made, read = (entry["data"] for entry in await full.entries())
    assert made["requestObject"]["data"] == read["responseObject"]["data"] == {"k": "v"}
    assert made["responseObject"]["metadata"]["name"] == "a"
    for event in (made, read, *full.heard.events):
        assert b"managedFields" not in orjson.dumps(event)
    stages = [event["stage"] for event in full.heard.events]
    assert stages == ["RequestReceived", "ResponseComplete"] * 2


async def test_large_bodies_are_left_out_and_that_is_said(full: World) -> None:
    large = {"metadata": {"name": "a"}, "data": {"k": "v" * 200_000}}
    assert await full("POST", MAPS, large) == 201
    (entry,) = await full.entries()
    assert "requestObject" not in entry["data"]
    assert entry["data"]["annotations"]["audit.k8s.io/truncated"] == "true"
    assert len(orjson.dumps(full.heard.events[-1])) < 10_000


async def test_a_secrets_value_is_nowhere(full: World) -> None:
    secret = {"metadata": {"name": "s"}, "data": {"password": VALUE}}
    assert await full("POST", SECRETS, secret) == 201
    assert await full("POST", SECRETS, secret) == 409
    changed = {"metadata": {"annotations": {"last": VALUE}}}
    assert await full("PATCH", f"{SECRETS}/s", changed, type=TYPES["merge"]) == 200
    wrong = {"metadata": {"name": "t"}, "data": {"password": f"{VALUE}!"}}
    assert await full("POST", SECRETS, wrong) == 400
    typed = {"metadata": {"name": "t"}, "type": VALUE * 100, "data": {VALUE: VALUE, "a b": "YQ=="}}
    assert await full("POST", SECRETS, typed) in (400, 422)
    assert await full("GET", SECRETS) == 200
    assert await full("GET", f"{SECRETS}/s") == 200
    assert await full("GET", SECRETS, user=VALUE) == 401
    assert await full("DELETE", f"{SECRETS}/s") == 200
    entries = await full.entries()
    assert [e["code"] for e in entries] == [
        201,
        409,
        200,
        400,
        entries[4]["code"],
        *[200] * 2,
        401,
        200,
    ]
    assert VALUE not in orjson.dumps(entries).decode()
    assert VALUE not in full.heard.raw.decode()


class Keeping:
    """A plugin that lets one object not go."""

    name = "Keeping"

    def handles(self, attributes: Admission) -> bool:
        return True

    async def validate(self, attributes: Admission, lookup: Any) -> None:
        if attributes.old is not None and attributes.old["metadata"]["name"] == "refused":
            raise Forbidden(attributes.group_resource, "refused", "no")


class Annotating:
    """A plugin that tells the audit log what it saw, and refuses one name."""

    name = "Annotating"

    def handles(self, attributes: Admission) -> bool:
        return True

    async def validate(self, attributes: Admission, lookup: Any) -> None:
        attributes.annotate("seen.example.com/name", attributes.name)
        if attributes.name == "refused":
            raise Forbidden(attributes.group_resource, attributes.name, "no")


async def test_what_admission_tells_is_in_the_entry_also_of_a_refusal(world: World) -> None:
    world.api.registry.chain = Chain([cast(Any, Annotating())])
    assert await world("POST", MAPS, {"metadata": {"name": "a"}}) == 201
    assert await world("POST", MAPS, {"metadata": {"name": "refused"}}) == 403
    made, refused = await world.entries()
    for entry, name in ((made, "a"), (refused, "refused")):
        assert entry["data"]["annotations"]["seen.example.com/name"] == name
    assert refused["data"]["annotations"]["authorization.k8s.io/decision"] == "allow"


async def test_what_clients_make_up_breaks_no_batch(world: World) -> None:
    assert await world("GET", "/api/v1/namespaces/a%00b/configmaps", user="bob") == 403
    agent = "x" * 5000
    assert (
        await world("GET", MAPS, user="bob", user_agent=agent, x_forwarded_for="9.9.9.9, x") == 403
    )
    first, second = await world.entries()
    assert first["namespace"] == "a\ufffdb"
    assert second["data"]["userAgent"] == "x" * 1024 + "...TRUNCATED"
    assert second["data"]["sourceIPs"] == ["9.9.9.9"]


async def test_writes_that_come_together_are_told_apart(world: World) -> None:
    async def one(number: int) -> int:
        return await world("POST", MAPS, {"metadata": {"name": f"n{number % 15}"}})

    codes = await asyncio.gather(*map(one, range(30)))
    entries = await world.entries()
    assert sorted(codes) == [201] * 15 + [409] * 15 == sorted(e["code"] for e in entries)
    made = {e["version"]: e["name"] for e in entries if e["version"]}
    listed = (await world.api.ok("GET", MAPS, authorization="Bearer ann"))["items"]
    stored = {int(o["metadata"]["resourceVersion"]): o["metadata"]["name"] for o in listed}
    assert made == stored


async def test_a_batch_whose_first_write_is_refused_keeps_entries_and_versions_together(
    store: PostgresStore, tenant: int
) -> None:
    await store.write(tenant, create(key("a", "ns")))
    blocker = asyncio.create_task(store.write(tenant, create(key("b", "ns"))))
    await asyncio.sleep(0)  # while this one is committed the others gather
    names = ("a", "c", "a", "d")
    versions = await asyncio.gather(
        *(store.write(tenant, create(key(name, "ns"))) for name in names), return_exceptions=True
    )
    await blocker
    made = {e["version"]: e["name"] for e in await rows(store, tenant)}
    assert {made[v] for v in versions if isinstance(v, int)} == {"c", "d"}
    assert [made.get(v) for v in versions if isinstance(v, int)] == ["c", "d"]
    assert len(made) == 4


async def test_a_watch_begins_and_ends(full: World) -> None:
    watch = full.api.watch(f"{MAPS}?watch=true&timeoutSeconds=1", authorization="Bearer ann")
    assert await watch.next() is None
    await full.api.until(lambda: len(full.heard.events) == 3)
    stages = [(e["stage"], e["verb"]) for e in full.heard.events]
    assert [stage for stage, _ in stages] == [
        "RequestReceived",
        "ResponseStarted",
        "ResponseComplete",
    ]
    assert {verb for _, verb in stages} == {"watch"}


async def test_what_is_nested_deeply_is_kept_all_the_same(full: World) -> None:
    """More deeply than orjson writes: such a body neither fails the request nor hides it."""
    deep = b'{"a":' * 400 + b"\n1" + b"}" * 400
    assert await full("POST", MAPS, {"metadata": {"name": "deep"}}) == 201
    for name, code in (("deep", 200), ("none", 404)):
        body = b'{"data":{"a":"b"},"unknown":%b}' % deep
        assert await full("PATCH", f"{MAPS}/{name}", body, type=TYPES["merge"]) == code
    entries = await full.entries(verb="patch")
    assert [e["code"] for e in entries] == [200, 404]
    assert all(_depth(e["data"]["requestObject"]["unknown"]) == 400 for e in entries)
    assert b"\n" not in full.heard.raw


def _depth(value: Any) -> int:
    depth = 0
    while isinstance(value, dict):
        value, depth = value["a"], depth + 1
    return depth


async def test_an_event_with_an_answer_stays_in_one_line(store: PostgresStore, tenant: int) -> None:
    """Or who reads the file takes lines of an object for events."""
    everything = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
    policy = parse({**everything, "rules": [{"level": "RequestResponse"}]})
    async with serving(store, tenant) as api:
        world = World(api, store, policy)
        assert await world("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "y"}}) == 201
        assert await world("GET", f"{MAPS}/a") == 200
        (entry,) = await world.entries(verb="get")
        await world.log.close()
    assert entry["data"]["responseObject"]["data"] == {"x": "y"}
    assert entry["data"]["responseObject"]["metadata"]["managedFields"]
    assert b"\n" not in world.heard.raw


async def test_an_event_that_cannot_be_made_costs_no_answer_and_is_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> bytes:
        raise RuntimeError

    before = counts.LOST.get(("audit-event",), 0)
    monkeypatch.setattr(Trail, "event", broken)
    assert await world("POST", MAPS, {"metadata": {"name": "NO"}}) == 422
    assert counts.LOST["audit-event",] == before + 1
