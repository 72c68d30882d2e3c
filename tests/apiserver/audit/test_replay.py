"""The question of an audit entry, asked again through the API: the same decision, by the same rule
and binding."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
import pytest_asyncio

from apiserver.audit import replay, trail
from apiserver.audit.policy import parse
from apiserver.audit.recorder import Recorder
from apiserver.authz.rules import compact_string
from apiserver.meta.objects import Object
from apiserver.storage.auditlog import AuditLog
from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, Api, serving
from tests.support.auditrows import rows
from tests.support.grants import NS, binding, role, rule
from tests.support.users import RBAC, ROOT, as_user, authorizing

EXPLANATIONS = "/apis/authorization.polyplane.dev/v1/accessexplanations"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
MAPS, SECRETS = "/api/v1/namespaces/ns/configmaps", "/api/v1/namespaces/ns/secrets"
PODS = "/api/v1/namespaces/ns/pods"
METADATA = parse(
    {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
)
AS_ANN = (("impersonate-user", "ann"),)
AS_DEVS = (
    *AS_ANN,
    ("impersonate-group", "devs"),
    ("impersonate-uid", "u-1"),
    ("impersonate-extra-acme.com%2fteam", "x"),
)


class Call(NamedTuple):
    """decision: "" where nobody comes to decide about the request itself."""

    user: str
    method: str
    path: str
    decision: str
    body: Any = None
    type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def _map(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def _applied(user: str, name: str, decision: str) -> Call:
    path = f"{MAPS}/{name}?fieldManager=m"
    return Call(user, "PATCH", path, decision, _map(name), TYPES["apply"])


CALLS = [
    Call("ann", "GET", MAPS, "allow"),
    Call("ann", "GET", f"{MAPS}?labelSelector=a%3Db&fieldSelector=metadata.name%3Dfirst", "allow"),
    Call("ann", "POST", MAPS, "allow", _map("made")),
    Call("ann", "POST", MAPS, "allow", {"metadata": {"generateName": "made-"}}),
    Call("ann", "GET", f"{MAPS}/made", "allow"),
    Call("ann", "PUT", f"{MAPS}/made", "allow", _map("made")),
    Call("ann", "PATCH", f"{MAPS}/made", "allow", {"data": {"a": "b"}}, TYPES["merge"]),
    Call("ann", "DELETE", f"{MAPS}/made", "allow"),
    Call("ann", "DELETE", f"{MAPS}?labelSelector=no", "allow"),
    Call("ann", "GET", f"{SECRETS}/one", "allow"),
    Call("ann", "GET", f"{SECRETS}/two", "forbid"),
    Call("ann", "GET", f"{SECRETS}?fieldSelector=metadata.name%3Done", "allow"),
    Call("ann", "GET", f"{SECRETS}?fieldSelector=metadata.name%3Dtwo", "forbid"),
    Call("ann", "POST", SECRETS, "forbid", {"metadata": {"name": "one"}}),
    Call("ann", "GET", f"{PODS}/p/log", "allow"),
    Call("ann", "GET", f"{PODS}/p", "forbid"),
    Call("ann", "GET", "/api/v1/namespaces/ns", "allow"),
    Call("ann", "GET", "/api/v1/namespaces/other", "forbid"),
    Call("ann", "GET", "/own%20place/x", "allow"),
    Call("ann", "GET", "/metrics", "forbid"),
    Call("ann", "GET", "/version?timeout=1s", "allow"),
    Call("ann", "GET", "/clusters/default/apis", "allow"),
    Call("bob", "GET", MAPS, "forbid"),
    Call("bob", "PUT", f"{MAPS}/first", "allow", _map("first")),
    _applied("bob", "absent", "forbid"),
    _applied("bob", "first", "allow"),
    _applied("ann", "applied", "allow"),
    Call("root", "DELETE", f"{SECRETS}/two", "allow"),
    Call("root", "GET", f"{MAPS}/first", "allow", headers=AS_ANN),
    Call("root", "GET", f"{PODS}/p", "allow", headers=AS_DEVS),
    Call("root", "DELETE", f"{PODS}/p", "forbid", headers=AS_DEVS),
    Call("ann", "GET", MAPS, "", headers=(("impersonate-user", "root"),)),
]


class World:
    def __init__(self, api: Api, store: PostgresStore) -> None:
        self.api, self._store, self._played = api, store, 0
        self._log = AuditLog(store.database)
        api.server.audit = api.registry.audit = Recorder(METADATA, [], self._log)

    async def play(self, call: Call) -> None:
        headers = {**as_user(call.user), "audit-id": str(self._played), **dict(call.headers)}
        self._played += 1
        status, answer = await self.api(call.method, call.path, call.body, call.type, **headers)
        assert status < 500, answer
        assert (status == 403) == (call.decision != "allow"), (call, answer)

    async def events(self) -> list[Object]:
        """Of what was played, in its order."""
        await self._log.close()
        found = await rows(self._store, self.api.tenant.id)
        played = {row["data"]["auditID"]: row["data"] for row in found}
        return [played[str(i)] for i in range(self._played)]

    async def ask(self, path: str, spec: Object) -> Object:
        status: Object = (await self.api.ok("POST", path, {"spec": spec}, **ROOT))["status"]
        return status


async def _rights(api: Api) -> None:
    writes = ["get", "list", "create", "update", "patch", "delete", "deletecollection"]
    roles = {
        "maps": [rule("configmaps", writes, "")],
        "named": [
            rule("pods", ["get"], "", resourceNames=["none"]),
            rule("secrets", ["get", "list"], "", resourceNames=["one"]),
        ],
        "logs": [rule("pods/log", ["get"], "")],
        "home": [rule("namespaces", ["get"], "", resourceNames=["ns"])],
        "urls": [{"nonResourceURLs": ["/own place/*"], "verbs": ["get"]}],
        "puts": [rule("configmaps", ["update", "patch"], "")],
        "pods": [rule("pods", ["get"], "")],
    }
    for name, rules in roles.items():
        await api.ok("POST", f"{RBAC}/clusterroles", role(name, rules), **ROOT)
    for name in ("home", "urls"):
        await api.ok("POST", f"{RBAC}/clusterrolebindings", binding(name, name, "ann"), **ROOT)
    for name, user in (("maps", "ann"), ("named", "ann"), ("logs", "ann"), ("puts", "bob")):
        await api.ok("POST", f"{NS}/rolebindings", binding(name, name, user), **ROOT)
    of_group = binding("pods", "pods")
    of_group["subjects"] = [{"kind": "Group", "name": "devs"}]
    await api.ok("POST", f"{NS}/rolebindings", of_group, **ROOT)
    discovery = role("discovery", [{"nonResourceURLs": ["/version", "/apis"], "verbs": ["get"]}])
    await api.ok("POST", f"{RBAC}/clusterroles", discovery, **ROOT)
    everybody = binding("everybody", "discovery")
    everybody["subjects"] = [{"kind": "Group", "name": "system:authenticated"}]
    await api.ok("POST", f"{RBAC}/clusterrolebindings", everybody, **ROOT)


@pytest_asyncio.fixture
async def world(store: PostgresStore, tenant: int) -> AsyncIterator[World]:
    async with serving(store, tenant) as api:
        authorizing(api)
        await _rights(api)
        await api.ok("POST", MAPS, _map("first"), **ROOT)
        for name in ("one", "two"):
            await api.ok("POST", SECRETS, {"metadata": {"name": name}}, **ROOT)
        yield World(api, store)


async def test_every_answer_asked_again_is_the_same(world: World) -> None:
    for call in CALLS:
        await world.play(call)
    events = await world.events()
    told: set[str] = set()
    for call, event in zip(CALLS, events, strict=True):
        notes = event["annotations"]
        assert notes.get(trail.DECISION, "") == call.decision, call
        if not call.decision:
            with pytest.raises(replay.NoQuestion, match="nobody has decided"):
                replay.spec_of(event)
            continue
        spec = replay.spec_of(event)
        explained = await world.ask(EXPLANATIONS, spec)
        reviewed = await world.ask(REVIEWS, spec)
        for status in (explained, reviewed):
            assert status["allowed"] == (call.decision == "allow"), (call, spec)
            assert status.get("reason", "") == notes.get(trail.REASON, ""), (call, spec)
        told.add(reviewed.get("reason", ""))
        grant = explained.get("grant")
        rule_now = f"{grant['ruleIndex']}: {compact_string(grant['rule'])}" if grant else None
        assert rule_now == notes.get(trail.RULE), (call, spec)
        if grant:
            assert f'Binding "{grant["binding"]["name"]}' in notes[trail.REASON]
        elif call.decision == "allow":
            assert explained["authorizer"] == notes[trail.AUTHORIZER] == "system:masters"
    assert len(told) == 9, told  # eight bindings, and no reason


async def test_a_change_of_rights_is_another_answer(world: World) -> None:
    """So the test above could fail."""
    await world.play(CALLS[0])
    (event,) = await world.events()
    await world.api.ok("DELETE", f"{NS}/rolebindings/maps", **ROOT)
    status = await world.ask(EXPLANATIONS, replay.spec_of(event))
    assert not status["allowed"] and event["annotations"][trail.DECISION] == "allow"


async def test_an_apply_that_makes_something_is_about_creating(world: World) -> None:
    for user, decision in (("bob", "forbid"), ("ann", "allow")):
        await world.play(_applied(user, "anew", decision))
    events = await world.events()
    assert len(events) == 2
    for event in events:
        spec = replay.spec_of(event)
        assert event["verb"] == "patch"
        assert spec["resourceAttributes"]["verb"] == "create"
        assert spec["resourceAttributes"]["name"] == "anew"


async def test_selectors_and_the_user_are_whole(world: World) -> None:
    query = f"labelSelector={quote('a in (b,c)')}&fieldSelector={quote('metadata.name=first')}"
    await world.play(Call("root", "GET", f"{PODS}?{query}", "forbid", headers=AS_DEVS))
    (event,) = await world.events()
    assert replay.spec_of(event) == {
        "user": "ann",
        "uid": "u-1",
        "groups": ["devs", "system:authenticated"],
        "extra": {"acme.com/team": ["x"]},
        "resourceAttributes": {
            "verb": "list",
            "version": "v1",
            "resource": "pods",
            "namespace": "ns",
            "name": "first",
            "labelSelector": {"rawSelector": "a in (b,c)"},
            "fieldSelector": {"rawSelector": "metadata.name=first"},
        },
    }


@pytest.mark.parametrize(
    ("path", "groups", "text"),
    [
        (f"{MAPS}?labelSelector={'a' * 5000}", 1, "too long to be kept whole"),
        (MAPS, 201, "more groups than the entry tells"),
    ],
)
async def test_what_an_entry_does_not_hold_whole_is_said(
    world: World, path: str, groups: int, text: str
) -> None:
    names = [f"g-{i}" for i in range(groups)]
    user = world.api.server.directory.token

    async def many(secret: str, tenant: int) -> Any:
        found = await user(secret, tenant)
        return replace(found, groups=(*names, *found.groups)) if secret == "many" else found

    world.api.server.directory.token = many  # type: ignore[method-assign]
    await world.play(Call("many", "GET", path, "forbid"))
    (event,) = await world.events()
    assert event["annotations"][trail.DECISION] == "forbid"
    with pytest.raises(replay.NoQuestion, match=text):
        replay.spec_of(event)


_ALLOWED = {trail.DECISION: "allow"}


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"annotations": _ALLOWED},
        {"annotations": _ALLOWED | {trail.AUTHORIZER: "polyplane:viewers"}, "requestURI": MAPS},
        {
            "annotations": _ALLOWED | {trail.AUTHORIZER: "polyplane:tenant-admins"},
            "requestURI": "/a",
        },
    ],
)
def test_what_is_no_entry_has_no_question(event: Object) -> None:
    with pytest.raises(replay.NoQuestion):
        replay.spec_of(event)
