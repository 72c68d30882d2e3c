"""Whatever eve, who has no right to escalate, bind or impersonate, sends to the API, in whatever
order: she never may do more than at the start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apiserver.authz.coverage import uncovered
from apiserver.authz.rbac import GROUP
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import TenantAuthorizer
from apiserver.user import MASTERS, User, authenticated
from tests.support.api import Api
from tests.support.grants import MAPS, binding, give, role, rule
from tests.support.intruder import (
    ACCOUNTS,
    AGGREGATION,
    CERTIFICATES,
    KINDS,
    LABEL,
    SECRETS,
    STRONG,
    gather,
    intruded,
    signing,
)
from tests.support.users import as_user

EVE = User("eve", groups=authenticated((), "eve"))
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
ALL: list[Object] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
RULES: list[list[Object]] = [
    [],
    MAPS,
    SECRETS,
    ALL,
    [rule("*", ["escalate"])],
    [rule("*", ["bind"])],
    [rule("users groups serviceaccounts", ["impersonate"], "")],
    [rule("signers", ["approve", "sign"], "certificates.k8s.io")],
    [rule("serviceaccounts/token", ["create"], "")],
    [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
]
NAMES = ["writer", "secrets", "part", "collector", "inner", "strong", "new"]


class Call(NamedTuple):
    """headers: beside those that say who asks; never: whether a success is a breach by itself."""

    method: str
    path: str
    body: Any
    type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    never: bool = False


@st.composite
def writes(draw: st.DrawFn) -> Call:
    """Of a role or a binding, new or there, in any of the ways."""
    kind, name = draw(st.sampled_from(sorted(KINDS))), draw(st.sampled_from(NAMES))
    obj: Object = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}}
    if kind.endswith("Binding"):
        of = draw(
            st.sampled_from(["ClusterRole", "Role"] if kind == "RoleBinding" else ["ClusterRole"])
        )
        obj |= {**binding(name, draw(st.sampled_from(NAMES)), "eve", kind=of)}
        obj["subjects"] += draw(st.sampled_from([[], [STRONG]]))
    else:
        obj["rules"] = draw(st.sampled_from(RULES))
        if draw(st.booleans()):
            obj["metadata"]["labels"] = LABEL
        if kind == "ClusterRole" and draw(st.booleans()):
            obj["aggregationRule"] = draw(
                st.sampled_from([AGGREGATION, {"clusterRoleSelectors": [{}]}, None])
            )
    members = draw(st.sets(st.sampled_from(["rules", "aggregationRule", "subjects", "roleRef"])))
    way, path = draw(st.sampled_from(["POST", "PUT", MERGE, APPLY, "DELETE"])), KINDS[kind]
    if way == "POST":
        return Call(way, path, obj)
    path = f"{path}/{name}"
    if way == APPLY:
        return Call("PATCH", f"{path}?fieldManager=eve&force=true", obj, APPLY)
    if way == MERGE:
        patch = {m: v for m, v in obj.items() if m == "metadata" or m in members}
        return Call("PATCH", path, patch, MERGE)
    return Call(way, path, obj if way == "PUT" else None)


def _approval(name: str) -> Object:
    condition = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    return {"status": {"conditions": [condition]}}


SECRETS_PATH = "/api/v1/namespaces/ns/secrets"
OTHERS = [
    *(
        Call("GET", SECRETS_PATH, None, headers=headers, never=True)
        for headers in (
            (("impersonate-user", "friend"),),
            (("impersonate-user", "system:serviceaccount:ns:strong"),),
            (("impersonate-user", "eve"), ("impersonate-group", MASTERS)),
        )
    ),
    Call("POST", f"{ACCOUNTS}/strong/token", {"spec": {}}, never=True),
    Call("POST", ACCOUNTS, {"metadata": {"name": "own"}}),
    Call("POST", f"{ACCOUNTS}/own/token", {"spec": {}}, never=True),
    Call("POST", SECRETS_PATH, {"metadata": {"name": "s"}}, never=True),
    Call("POST", "/api/v1/namespaces/ns/pods", {"metadata": {"name": "p"}}, never=True),
    Call("POST", CERTIFICATES, signing("masters", MASTERS), never=True),
    Call("POST", CERTIFICATES, signing("plain", "dev")),
    *(
        Call("PATCH", f"{CERTIFICATES}/{name}/approval", _approval(name), MERGE, never=True)
        for name in ("wanted", "plain", "masters")
    ),
    Call(
        "PATCH",
        f"{CERTIFICATES}/wanted/status",
        {"status": {"certificate": "LS0tLS1CRUdJTg=="}},
        MERGE,
        never=True,
    ),
]
_ANY = {"clusterRoleSelectors": [{}]}
_CLUSTER = KINDS["ClusterRole"]
ATTACKS = [
    *(
        Call("PATCH", f"{_CLUSTER}/{name}", {"aggregationRule": _ANY}, MERGE)
        for name in ("writer", "collector", "part")
    ),
    Call("PATCH", f"{_CLUSTER}/secrets", {"metadata": {"labels": LABEL}}, MERGE),
    Call("PATCH", f"{_CLUSTER}/part", {"rules": SECRETS}, MERGE),
    Call("PATCH", f"{_CLUSTER}/collector", {"rules": SECRETS}, MERGE),
    Call("POST", _CLUSTER, {"metadata": {"name": "new", "labels": LABEL}, "rules": SECRETS}),
    Call("POST", _CLUSTER, {"metadata": {"name": "new"}, "aggregationRule": _ANY}),
    Call("DELETE", f"{_CLUSTER}/part", None),
    Call("POST", _CLUSTER, {"metadata": {"name": "part", "labels": LABEL}, "rules": ALL}),
    Call("DELETE", f"{KINDS['ClusterRoleBinding']}/strong", None),
    *(
        Call("POST", KINDS[kind], binding("strong", "secrets", "eve"))
        for kind in ("ClusterRoleBinding", "RoleBinding")
    ),
    Call("POST", KINDS["RoleBinding"], binding("inner", "inner", "eve", kind="Role")),
]
"""What has been tried elsewhere; they stand here because chance seldom finds them."""
calls = st.one_of(writes(), writes(), writes(), st.sampled_from(OTHERS + ATTACKS))


async def held(api: Api) -> dict[str, list[Object]]:
    authorizer = TenantAuthorizer(api.registry)
    return {
        namespace: (await authorizer.rules_for(api.tenant, EVE, namespace)).rules
        for namespace in ("", "ns", "other")
    }


async def send(api: Api, call: Call) -> int:
    headers = {**as_user("eve"), **dict(call.headers)}
    status, _ = await api(call.method, call.path, call.body, call.type, **headers)
    return status


async def play(attempts: list[Call]) -> None:
    async with intruded() as api:
        before = await held(api)
        for call in attempts:
            status = await send(api, call)
            assert status < 500, call
            assert not (call.never and status < 400), call
            if status < 400:
                await gather(api)
                for namespace, now in (await held(api)).items():
                    assert uncovered(before[namespace], now) == ([], True), call


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(attempts=st.lists(calls, min_size=4, max_size=12))
@example(attempts=OTHERS)
@example(attempts=ATTACKS)
def test_no_sequence_of_calls_gains_rights(runner: asyncio.Runner, attempts: list[Call]) -> None:
    runner.run(play(attempts))


# --- what grants: with the right in the first column alone, the call of the second succeeds -------
def _bound(to: str, name: str = "new") -> Call:
    return Call("POST", KINDS["ClusterRoleBinding"], binding(name, to, "eve"))


_MORE = Call("POST", KINDS["ClusterRole"], role("new", SECRETS))
_TOKEN = Call("POST", f"{ACCOUNTS}/strong/token", {"spec": {}})
_AS = Call("GET", SECRETS_PATH, None, headers=(("impersonate-user", "friend"),))
_APPROVE = Call("PATCH", f"{CERTIFICATES}/wanted/approval", _approval("wanted"), MERGE)
_SIGNERS = "certificates.k8s.io"
MATRIX = [
    ("nothing", None, [], [_MORE, _bound("secrets"), _TOKEN, _AS, _APPROVE]),
    ("escalate on roles", rule("clusterroles", ["escalate"]), [_MORE], [_bound("secrets")]),
    ("bind on any role", rule("clusterroles", ["bind"]), [_bound("secrets")], [_MORE]),
    (
        "bind on one role",
        rule("clusterroles", ["bind"], resourceNames=["secrets"]),
        [_bound("secrets")],
        [_MORE, _TOKEN],
    ),
    (
        "bind on another role",
        rule("clusterroles", ["bind"], resourceNames=["writer"]),
        [],
        [_bound("secrets")],
    ),
    ("the rights themselves", SECRETS[0], [_MORE, _bound("secrets")], [_TOKEN, _AS]),
    ("impersonate", rule("users", ["impersonate"], ""), [_AS], [_MORE, _TOKEN]),
    (
        "impersonate another user",
        rule("users", ["impersonate"], "", resourceNames=["other"]),
        [],
        [_AS],
    ),
    ("tokens of accounts", rule("serviceaccounts/token", ["create"], ""), [_TOKEN], [_MORE, _AS]),
    ("approve on the signer", rule("signers", ["approve"], _SIGNERS), [_APPROVE], [_MORE]),
    (
        "approve on signers of another domain",
        rule("signers", ["approve"], _SIGNERS, resourceNames=["example.com/*"]),
        [],
        [_APPROVE],
    ),
    ("sign, which is not approve", rule("signers", ["sign"], _SIGNERS), [], [_APPROVE]),
]


@pytest.mark.parametrize(
    ("right", "opens", "closed"),
    [row[1:] for row in MATRIX],
    ids=[row[0] for row in MATRIX],
)
def test_what_grants(
    runner: asyncio.Runner, right: Object | None, opens: list[Call], closed: list[Call]
) -> None:
    async def run() -> None:
        async with intruded() as api:
            if right is not None:
                await give(api, right)
                await gather(api)
            assert [await send(api, call) for call in closed] == [403] * len(closed)
            assert [status for call in opens if (status := await send(api, call)) >= 400] == []

    runner.run(run())
