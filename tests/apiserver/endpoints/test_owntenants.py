"""As whom callers of SelfTenantReview are known in other tenants, by how they have shown who they
are; and the answer's form."""

from __future__ import annotations

import json
from typing import Any, cast

import jwt
import pytest

from apiserver.endpoints.owntenants import Person, after_of, person_of, told
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.errors import Invalid
from apiserver.registry.scope import Tenant
from apiserver.user import AUTHENTICATED, MASTERS, User
from tests.support.api import receive_of

HERE = 7
TOKEN = "pp_secret"
ISSUER = "https://idp.example.com"


class Directory:
    """Knows `TOKEN`, an operator's, as alice's, in tenant default alone."""

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return alice() if (secret, tenant_id) == (TOKEN, HERE) else None


class FakeServer:
    directory = Directory()


def alice(**more: Any) -> User:
    return User("alice", groups=("dev", AUTHENTICATED), **more)


def of_issuer(issuer: Any = ISSUER) -> str:
    return jwt.api_jws.encode(json.dumps({"iss": issuer}).encode(), "k" * 32)


async def known(sender: User, *, secret: str = "", acts_as: User | None = None) -> Person:
    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    request = ApiRequest(scope, receive_of())
    request.sender, request.user, request.secret = sender, acts_as or sender, secret
    request.tenant = Tenant(HERE, "default")
    return await person_of(cast(Server, FakeServer()), request)


SUBJECTS = ["User:alice", "Group:dev", f"Group:{AUTHENTICATED}"]


async def test_whom_the_installation_knows_is_the_same_everywhere() -> None:
    """All but tokens: certificates of its authorities, proxies in front, the console."""
    assert await known(alice(everywhere=True)) == Person(SUBJECTS)
    assert await known(alice(everywhere=True), secret=TOKEN) == Person(SUBJECTS)


async def test_an_operators_token_of_this_tenant_says_who_that_is() -> None:
    assert await known(alice(), secret=TOKEN) == Person(SUBJECTS)


@pytest.mark.parametrize("secret", ["", "pp_other", "abcdef.0123456789abcdef", of_issuer()])
async def test_whom_only_this_tenant_knows_is_nobody_elsewhere(secret: str) -> None:
    """Certificates of its authority, its own issuers, its bootstrap tokens."""
    assert await known(alice(), secret=secret) == Person(SUBJECTS, HERE)


async def test_a_service_account_is_somebody_in_its_own_tenant() -> None:
    name = "system:serviceaccount:ns:bot"
    account = User(name, groups=("system:serviceaccounts",))
    assert await known(account, secret=of_issuer()) == Person(
        [f"User:{name}", "Group:system:serviceaccounts", "ServiceAccount:ns:bot"], HERE
    )
    everywhere = User(name, everywhere=True)
    assert await known(everywhere) == Person([f"User:{name}"])


@pytest.mark.parametrize(
    ("secret", "issuer"),
    [
        (of_issuer(), ISSUER),
        (of_issuer(["x"]), ""),
        (of_issuer(None), ""),
        (TOKEN, ""),
        ("a.b.c", ""),
    ],
)
async def test_the_issuer_is_told_where_tenants_may_know_it(secret: str, issuer: str) -> None:
    assert await known(alice(everywhere=True), secret=secret) == Person(SUBJECTS, issuer=issuer)


async def test_impersonation_tells_no_more_than_the_sender_may_do_there() -> None:
    target = alice()
    operator = User("admin", groups=(MASTERS,), everywhere=True)
    assert await known(operator, acts_as=target, secret=of_issuer()) == Person(SUBJECTS)
    for sender in (
        User("admin", groups=(MASTERS,)),
        User("bob", everywhere=True),
        alice(),  # as somebody who is called the same
    ):
        assert await known(sender, acts_as=alice(), secret=TOKEN) == Person(SUBJECTS, HERE)


async def test_nobody_is_asked_for_twice() -> None:
    twice = User("alice", groups=("dev", "dev"), everywhere=True)
    assert await known(twice) == Person(["User:alice", "Group:dev"])


@pytest.mark.parametrize("spec", [None, {}, {"after": None}, {"after": ""}, {"other": 1}])
def test_without_a_name_all_are_asked_for(spec: Any) -> None:
    assert after_of({"spec": spec}) == after_of({}) == ""


def test_a_name_to_begin_behind() -> None:
    assert after_of({"spec": {"after": "acme"}}) == "acme"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"after": "a\0b"}, "spec.after"),
        ({"after": "Acme"}, "spec.after"),
        ({"after": "x" * 64}, "spec.after"),
        ({"after": 5}, "spec.after"),
        ({"after": ["a"]}, "spec.after"),
        ({"after": True}, "spec.after"),
        (5, "spec"),
        (["a"], "spec"),
    ],
)
def test_what_is_no_name_is_refused(spec: Any, field: str) -> None:
    with pytest.raises(Invalid) as raised:
        after_of({"spec": spec})
    status = raised.value.to_status()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == [field]


def test_the_answer_says_how_many_there_are() -> None:
    rows = [
        ("acme", "Acme Ltd", "active", ["owner", "binding"], 3),
        ("demo", "", "suspended", ["binding"], 3),
    ]
    assert told(rows) == {
        "tenants": [
            {
                "name": "acme",
                "displayName": "Acme Ltd",
                "path": "/clusters/acme",
                "suspended": False,
                "through": ["owner", "binding"],
            },
            {
                "name": "demo",
                "displayName": "",
                "path": "/clusters/demo",
                "suspended": True,
                "through": ["binding"],
            },
        ],
        "count": 3,
        "truncated": True,
    }
    assert told([]) == {"tenants": [], "count": 0, "truncated": False}
    assert told([("acme", "", "active", ["owner"], 1)])["truncated"] is False
