"""Bootstrap tokens, the token webhook and the headers of proxies: who is who, and who is nobody."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authn import bootstraptokens
from apiserver.authn.accountclaims import Refused
from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.clientcertificates import ClientCertificates, FrontProxies, Presented
from apiserver.authn.external import BootstrapTokens, External
from apiserver.authn.providers import Unreachable
from apiserver.authn.requestheaders import HeaderNames
from apiserver.authn.tokenwebhook import LONGEST, REMEMBERED, WAITING, AskError, TokenWebhook
from apiserver.meta.gvk import GroupResource
from apiserver.user import User, authenticated
from tests.support.clientcertificates import DER, Authority, name, unsigned
from tests.support.waiting import until

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TOKEN = "abcdef.0123456789abcdef"
OWN = "https://kubernetes.default.svc"


# --- bootstrap tokens -----------------------------------------------------------------------------
def secret(of: str = "bootstrap.kubernetes.io/token", **data: str | None) -> Any:
    held: dict[str, str | None] = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        **{key.replace("_", "-"): value for key, value in data.items()},
    }
    encoded = {k: base64.b64encode(v.encode()).decode() for k, v in held.items() if v is not None}
    return {"metadata": {"name": "bootstrap-token-abcdef"}, "type": of, "data": encoded}


GROUPS = ("system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b")


@pytest.mark.parametrize(
    ("held", "groups"),
    [
        (secret(), GROUPS[:1]),
        (secret(auth_extra_groups="system:bootstrappers:b,system:bootstrappers:a"), GROUPS),
        (secret(expiration="2026-01-02T00:00:01Z"), GROUPS[:1]),
        (secret(expiration=""), GROUPS[:1]),
        (secret(expiration="2026-01-02T00:00:00Z"), None),
        (secret(expiration="2026-01-02T01:00:00+01:00"), None),
        (secret(expiration="tomorrow"), None),
        (secret("Opaque"), None),
        (secret("bootstrap.kubernetes.io/token", token_secret="0123456789abcdeg"), None),
        (secret(token_secret=None), None),
        (secret(token_secret=""), None),
        (secret(token_id="abcdeg"), None),
        (secret(token_id=None), None),
        (secret(usage_bootstrap_authentication=None), None),
        (secret(usage_bootstrap_authentication="True"), None),
        (secret(usage_bootstrap_authentication="false"), None),
        (secret(auth_extra_groups="system:masters"), None),
        (secret(auth_extra_groups="system:bootstrappers:a,system:masters"), None),
        (secret(auth_extra_groups="system:bootstrappers:"), None),
        (secret(auth_extra_groups="system:bootstrappers:A"), None),
        (secret(auth_extra_groups="system:bootstrappers:a\nsystem:masters"), None),
        ({**secret(), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, None),
        ({**secret(), "data": None}, None),
    ],
)
def test_what_a_secret_says(held: Any, groups: Sequence[str] | None) -> None:
    found = bootstraptokens.user(TOKEN, held, NOW)
    if groups is None:
        assert found is None
    else:
        expected = (*groups, "system:authenticated")
        assert found == User("system:bootstrap:abcdef", groups=expected)


@pytest.mark.parametrize(
    "token", ["", "abcdef", "abcdef.", TOKEN + "\n", TOKEN.upper(), TOKEN + "0", "a" + TOKEN, "é"]
)
def test_what_is_no_bootstrap_token(token: str) -> None:
    assert bootstraptokens.secret_name(token) == ""
    assert bootstraptokens.user(token, secret(), NOW) is None


class Secrets:
    def __init__(self, held: Any) -> None:
        self.held, self.reads = held, 0

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Any:
        self.reads += 1
        right = (resource.resource, namespace, name) == (
            "secrets",
            "kube-system",
            "bootstrap-token-abcdef",
        )
        return self.held if right else None


async def test_a_token_costs_one_look_in_two_seconds() -> None:
    clock, secrets = Clock(), Secrets(secret())
    held = BootstrapTokens(clock)
    for _ in range(5):
        assert await held.user(1, TOKEN, lambda: secrets) is not None
    assert secrets.reads == 1
    assert await held.user(2, TOKEN, lambda: Secrets(None)) is None, "of another tenant"
    clock.now += 2
    secrets.held = None
    assert await held.user(1, TOKEN, lambda: secrets) is None


# --- the webhook ----------------------------------------------------------------------------------
class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Server:
    """Answers by the token."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answers: dict[str, Any] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, tenant: int, body: bytes) -> bytes:
        review = json.loads(body)
        self.asked.append(review)
        await self.gate.wait()
        answer = self.answers.get(review["spec"]["token"], {"authenticated": False})
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            return answer
        return json.dumps({"kind": "TokenReview", "status": answer}).encode()


USER = {"username": "w", "uid": "7", "groups": ["g"], "extra": {"k": ["v"]}}
YES = {"authenticated": True, "user": USER}


def webhook(server: Server) -> tuple[TokenWebhook, Clock]:
    clock = Clock()
    return TokenWebhook(server.ask, clock), clock


async def test_the_webhook_says_who_it_is() -> None:
    server = Server()
    server.answers = {"t": YES, "v": {**YES, "audiences": ["vault", "x"]}}
    held, clock = webhook(server)
    for _ in range(3):
        found = await held.review(1, "t", (OWN,), (OWN,))
        groups = ("g", "system:authenticated")
        assert found == (User("w", "7", groups, {"k": ("v",)}, everywhere=True), (OWN,))
    assert len(server.asked) == 1
    assert server.asked[0]["apiVersion"] == "authentication.k8s.io/v1"
    assert server.asked[0]["spec"] == {"token": "t", "audiences": [OWN]}
    assert await held.review(1, "t", ("vault",), (OWN,)) is None, "meant for the API alone"
    found = await held.review(1, "v", ("y", "vault"), (OWN,))
    assert found is not None and found[1] == ("vault",)
    assert await held.review(1, "v", (OWN,), (OWN,)) is None
    found = await held.review(1, "v", ("x", "vault"), (OWN,))
    assert found is not None and found[1] == ("vault", "x"), "as the webhook has them"
    clock.now += REMEMBERED
    await held.review(1, "t", (OWN,), (OWN,))
    assert len(server.asked) == 6


async def test_tenants_do_not_share_answers() -> None:
    server = Server()
    held, _ = webhook(server)
    for tenant in (1, 2, 1, 2):
        assert await held.review(tenant, "x", (OWN,), (OWN,)) is None
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        AskError("it is away"),
        AskError("HTTP 500", 500),
        b"",
        b"[]",
        b"null",
        b'{"kind":"Status","status":"Failure"}',
        b'{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1beta1","status":{}}',
        b'{"kind":"TokenReview","status":[]}',
        {**YES, "authenticated": "true"},
        {**YES, "authenticated": 1},
        {**YES, "audiences": "me"},
        {"error": 7},
        {"authenticated": True},
        {"authenticated": True, "user": {"username": ""}},
        {"authenticated": True, "user": {"username": 7}},
        {"authenticated": True, "user": {"username": "a", "groups": "system:masters"}},
        {"authenticated": True, "user": {"username": "a", "groups": [1]}},
        {"authenticated": True, "user": {"username": "a", "extra": {"k": "v"}}},
    ],
)
async def test_a_webhook_that_fails_lets_nobody_in(answer: Any) -> None:
    server = Server()
    server.answers["t"] = answer
    held, _ = webhook(server)
    for _ in range(2):  # and is asked again
        with pytest.raises(Unreachable):
            await held.review(1, "t", (OWN,), (OWN,))
    assert len(server.asked) == 2 and held.problem


@pytest.mark.parametrize(
    "answer", [b"{}", b'{"status":null}', {**YES, "authenticated": None}, {"user": USER}]
)
async def test_who_is_not_said_to_be_anybody_is_nobody(answer: Any) -> None:
    server = Server()
    server.answers["t"] = answer
    assert await webhook(server)[0].review(1, "t", (OWN,), (OWN,)) is None


async def test_an_answer_may_leave_out_what_the_question_says() -> None:
    server = Server()
    user = {"username": "w", "uid": None, "groups": None, "extra": {"k": None}}
    answer = {"status": {**YES, "user": user, "other": 1}, "apiVersion": "authentication.k8s.io/v1"}
    server.answers["t"] = json.dumps(answer).encode()
    found = await webhook(server)[0].review(1, "t", (OWN,), (OWN,))
    assert found is not None
    assert found[0] == User("w", "", ("system:authenticated",), {"k": ()}, everywhere=True)


async def test_what_is_wrong_with_an_answer_is_told() -> None:
    server = Server()
    server.answers["t"] = {**YES, "user": {**USER, "groups": "g"}}
    of_type = "string into Go struct field UserInfo.status.user.groups of type"
    with pytest.raises(Unreachable, match=of_type):
        await webhook(server)[0].review(1, "t", (OWN,), (OWN,))


async def test_why_is_told_to_who_reviews() -> None:
    server = Server()
    server.answers["t"] = {"error": "expired in May"}
    with pytest.raises(Refused, match="expired in May"):
        await webhook(server)[0].review(1, "t", (OWN,), (OWN,))


async def test_who_asks_the_same_waits_for_one_answer_and_too_many_do_not_wait() -> None:
    server = Server()
    server.answers["t"] = YES
    server.gate.clear()
    held, _ = webhook(server)
    same = [asyncio.create_task(held.review(1, "t", (OWN,), (OWN,))) for _ in range(20)]
    others = [asyncio.create_task(held.review(1, f"x{i}", (OWN,), (OWN,))) for i in range(WAITING)]
    await until(lambda: sum(task.done() for task in others) == 20)
    server.gate.set()
    assert None not in await asyncio.gather(*same)
    results = await asyncio.gather(*others, return_exceptions=True)
    assert sum(isinstance(r, Unreachable) for r in results) == 20
    assert [a["spec"]["token"] for a in server.asked].count("t") == 1


async def test_tokens_that_are_made_up_do_not_push_out_good_ones() -> None:
    server = Server()
    server.answers["t"] = YES
    held, _ = webhook(server)
    await held.review(1, "t", (OWN,), (OWN,))
    for i in range(5000):
        assert await held.review(1, f"x{i}", (OWN,), (OWN,)) is None
    asked = len(server.asked)
    assert await held.review(1, "t", (OWN,), (OWN,)) is not None
    assert len(server.asked) == asked
    assert await held.review(1, "x" * (LONGEST + 1), (OWN,), (OWN,)) is None
    assert len(server.asked) == asked


@given(st.text() | st.binary().map(lambda b: b.decode("utf-8", "surrogateescape")))
def test_whatever_comes_is_nobody(token: str) -> None:
    async def run() -> Any:
        held = External(bootstrap=BootstrapTokens(), webhook=webhook(Server())[0])
        return await held.identify(1, token, (OWN,), OWN, lambda: Secrets(None))

    assert asyncio.run(run()) is None


# --- proxies --------------------------------------------------------------------------------------
PROXIES, STRANGER = Authority("proxies"), Authority("stranger")
CERTIFICATES = ClientCertificates(
    ClientAuthority(b"s" * 32), [], FrontProxies([PROXIES.certificate], ["proxy"])
)


@pytest.mark.parametrize(
    ("signed", "good"),
    [
        (PROXIES.sign(unsigned(name("proxy"))), True),
        (PROXIES.sign(unsigned(name("other"))), False),
        (PROXIES.sign(unsigned(name("proxy "))), False),
        (STRANGER.sign(unsigned(name("proxy"))), False),
    ],
)
def test_who_may_speak_for_others(signed: Any, good: bool) -> None:
    for _ in range(2):
        presented = Presented([signed.public_bytes(DER)])
        assert CERTIFICATES.is_proxy(presented) is good
        with pytest.raises(Refused):  # it makes nobody by itself
            CERTIFICATES.user(presented, 1)


HEADERS: list[tuple[list[tuple[str, str]], User | None]] = [
    ([], None),
    ([("x-remote-group", "system:masters")], None),
    ([("x-remote-user", "")], None),
    ([("x-remote-user", ""), ("x-remote-user", "b")], None),
    ([("x-remote-user", "a"), ("x-remote-user", "b")], User("a")),
    ([("X-Remote-User", "a"), ("X-Remote-Uid", "7")], User("a", "7")),
    ([("x_remote_user", "a")], None),
    ([("x-remote-user-x", "a")], None),
    (
        [("x-remote-user", "a"), ("x-remote-group", "g"), ("x-remote-group", "h,i")],
        User("a", groups=("g", "h,i")),
    ),
    (
        [
            ("x-remote-user", "a"),
            ("x-remote-extra-acme.io%2Fproject", "p"),
            ("X-Remote-Extra-Acme.io%2fProject", "q"),
            ("x-remote-extra-%zz", "r"),
        ],
        User("a", extra={"acme.io/project": ("p", "q"), "%zz": ("r",)}),
    ),
]


@pytest.mark.parametrize(
    ("user", "groups", "expected"),
    [
        ("system:anonymous", ("g",), ("g",)),
        ("a", ("system:unauthenticated",), ("system:unauthenticated",)),
        ("a", ("system:authenticated", "g"), ("system:authenticated", "g")),
    ],
)
def test_who_is_said_to_be_nobody_is_not_authenticated(
    user: str, groups: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    headers = [(b"x-remote-group", group.encode()) for group in groups]
    found = HeaderNames().user([(b"x-remote-user", user.encode()), *headers])
    assert found is not None and found.groups == expected
    assert authenticated(groups, user) == expected


@pytest.mark.parametrize(("headers", "expected"), HEADERS)
def test_whom_headers_name(headers: list[tuple[str, str]], expected: User | None) -> None:
    found = HeaderNames().user([(n.encode(), v.encode()) for n, v in headers])
    if expected is None:
        assert found is None
    else:
        groups = (*expected.groups, "system:authenticated")
        assert found == User(expected.name, expected.uid, groups, expected.extra, everywhere=True)


@given(st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=30))))
def test_any_headers_are_read(headers: list[tuple[bytes, bytes]]) -> None:
    HeaderNames().user([*headers, (b"x-remote-extra-" + b"%", b"\xff")])
    assert HeaderNames().user([(b"x-remote-user", b"\xff"), *headers]) is not None
