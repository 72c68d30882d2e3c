"""Who proves nothing learns nothing: to such requests a tenant answers alike whether it is there,
suspended, being deleted or not, and nothing is done for one that would not be done for another.

The answers are compared as they stand on the wire, but for the Audit-ID; what is done, by what the
server asked its parts for.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.authn.external import BootstrapTokens, External
from apiserver.authn.oidc import Issuers, OidcTokens
from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.authn.tokenwebhook import TokenWebhook
from apiserver.authz.attributes import Decision
from apiserver.endpoints.entry import Entry
from apiserver.endpoints.request import Message
from apiserver.endpoints.server import Server
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import TenantGone
from apiserver.user import User
from tests.support.api import receive_of
from tests.support.waiting import at_once

STATES = {"here": "active", "asleep": "suspended", "leaving": "deleting"}
NAMES = [*STATES, "nowhere", "neither-here-nor-there"]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]
PATHS = [
    "",
    "/",
    "/api",
    "/apis",
    "/apis/",
    "/api/v1",
    "/apis/apps/v1",
    "/version",
    "/version/",
    "/metrics",
    "/debug/pprof",
    "/logs",
    "/healthz",
    "/livez",
    "/readyz",
    "/healthz/",
    "/livez/ping",
    "/readyz/etcd",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/api/v1",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
    "/nonsense",
    "//api",
    "/api//v1",
    "/clusters/here/api",
    "/api/v1/pods",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/secrets/x",
    "/api/v1/watch/secrets",
    "/api/v1/namespaces/default/pods/x/log",
    "/apis/example.com/v1/things/y/status",
    "/apis/tenancy.polyplane.dev/v1/tenants",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
]
QUERIES = [
    "",
    "watch=true",
    "limit=1&continue=e30",
    "verbose&exclude=ping",
    "timeout=x&resourceVersion=-1&dryRun=All&pretty=1",
]
OTHERS = AccountTokens.random()
"""Of another installation."""


def forged(tokens: AccountTokens, number: int, name: str) -> str:
    account = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u"}}
    now = datetime.now(UTC)
    return at_once(tokens.issue((number, name), account, [tokens.issuer(name)], {}, 3600, now))


def header_sets(target: str) -> dict[str, list[tuple[str, str]]]:
    """By what is odd about them. ``target``: the tenant that is asked."""
    socket = [
        ("upgrade", "websocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "eA=="),
    ]
    protocol = (
        "base64url.bearer.authorization.k8s.io."
        f"{base64.urlsafe_b64encode(b'pp_wrong').decode().rstrip('=')}"
    )
    return {
        "none": [],
        "impersonated user": [("impersonate-user", "admin")],
        "impersonated group": [
            ("impersonate-user", "admin"),
            ("impersonate-group", "system:masters"),
        ],
        "impersonated account": [("impersonate-user", "system:serviceaccount:ns:robot")],
        "impersonated without a user": [("impersonate-group", "system:masters")],
        "impersonated anonymous": [
            ("impersonate-user", "system:anonymous"),
            ("impersonate-extra-a", "b"),
            ("impersonate-uid", "u"),
        ],
        "wrong token": [("authorization", "Bearer pp_wrong")],
        "token of another tenant": [("authorization", "Bearer other")],
        "token of nobody's tenant": [("authorization", f"Bearer {forged(OTHERS, 7, 'elsewhere')}")],
        "token that names the tenant": [("authorization", f"Bearer {forged(OTHERS, 1, target)}")],
        "no JWT": [("authorization", "Bearer a.b.c")],
        "basic": [("authorization", "Basic YTpi")],
        "empty bearer": [("authorization", "Bearer ")],
        "protocol": [*socket, ("sec-websocket-protocol", protocol)],
        "bad protocol": [
            *socket,
            ("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.€"),
        ],
        "types": [
            ("accept", "application/vnd.kubernetes.protobuf"),
            ("content-type", "application/yaml"),
            ("accept-encoding", "gzip"),
        ],
        "table": [
            ("accept", "application/json;as=Table;g=meta.k8s.io;v=v1"),
            ("user-agent", "Mozilla/5.0"),
        ],
        "nonsense": [
            ("accept", "a/b"),
            ("content-length", "99999999999"),
            ("expect", "100-continue"),
            ("x-remote-user", "admin"),
        ],
    }


class Trail:
    """The parts of a server; steps: what was asked of them."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def part(self, name: str, answer: Any = None) -> Any:
        async def ask(*_: Any) -> Any:
            self.steps.append(name)
            return answer

        return ask

    async def tenant(self, name: str) -> Any:
        self.steps.append("look up")
        if name not in STATES:
            return None
        return SimpleNamespace(
            id=1 + list(STATES).index(name),
            name=name,
            state=STATES[name],
            max_watches=None,
            max_inflight=None,
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        self.steps.append("token")
        return User("someone") if secret == "other" and tenant_id == 99 else None

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        self.steps.append("home")
        return "default"

    def server(self) -> Server:
        watches = SimpleNamespace(heard=self.part("heard"))
        store = SimpleNamespace(heads=self.part("heads", {}))
        steps = SimpleNamespace(ensure=self.part("seed"), ready=self.part("definitions"))
        return Server(
            registry=cast(Any, SimpleNamespace(watches=watches, store=store)),
            catalog=cast(Any, steps),
            definitions=cast(Any, steps),
            directory=cast(Any, self),
            authorizer=cast(Any, SimpleNamespace(authorize=self.part("authorize", Decision(True)))),
            seeder=cast(Any, steps),
            git_version="v1",
            started=True,
        )


async def exchange(
    entry: Entry, kind: str, method: str, path: str, query: str, headers: list[tuple[str, str]]
) -> list[Message]:
    sent: list[Message] = []
    parts = [
        {"type": "http.request", "body": b"{" * 100_000, "more_body": more}
        for more in (True, True, False)
    ]
    receive = (
        receive_of({"type": "websocket.connect"}) if kind == "websocket" else receive_of(*parts)
    )

    async def send(message: Message) -> None:
        kept = [(k, v) for k, v in message.get("headers", ()) if k != b"audit-id"]
        sent.append({**message, "headers": kept})

    raw = [(k.encode(), v.encode()) for k, v in headers]
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": raw,
    }
    await entry(scope, receive, send)
    return sent


def entry_of(trail: Trail) -> Entry:
    server = trail.server()

    async def make() -> Server:
        return server

    return Entry(make, cast(Any, None), cast(Any, None))


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("odd", list(header_sets("x")))
async def test_all_tenants_answer_alike(
    odd: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    trails = {name: Trail() for name in NAMES}
    entries = {name: entry_of(trail) for name, trail in trails.items()}
    methods = METHODS if kind == "http" else ["GET"]
    cases = [
        (m, p, q)
        for m, p, q in itertools.product(methods, PATHS, QUERIES)
        if kind == "websocket" or not q or m in ("GET", "POST")
    ]
    for method, path, query in cases:
        answers = {}
        for name in NAMES:
            trails[name].steps.clear()
            headers = header_sets(name)[odd] if "names" in odd else HEADERS[odd]
            sent = await exchange(
                entries[name], kind, method, f"/clusters/{name}{path}", query, headers
            )
            answers[name] = sent, list(trails[name].steps)
        for name in NAMES[1:]:
            assert answers[name] == answers[NAMES[0]], (method, path, query, name)
        assert not {"seed", "definitions", "heard", "authorize"} & set(answers[NAMES[0]][1]), (
            method,
            path,
            query,
        )
    assert not [r for r in caplog.records if any(name in r.getMessage() for name in NAMES)]


HEADERS = header_sets("here")


@pytest.mark.parametrize("path", ["/api", "/version", "/readyz", "/api/v1/pods"])
@pytest.mark.parametrize("odd", list(header_sets("x")))
async def test_all_tenants_answer_alike_at_their_hosts(odd: str, path: str) -> None:
    answers = []
    for name in NAMES:
        trail = Trail()
        entry = entry_of(trail)
        entry.server = trail.server()
        entry.server.tenant_domain = "t.example.com"
        headers = [*header_sets(name)[odd], ("host", f"{name}.t.example.com")]
        answers.append((await exchange(entry, "http", "GET", path, "", headers), trail.steps))
    assert len(answers) > 1 and all(answer == answers[0] for answer in answers)


async def test_all_tenants_answer_alike_to_tokens_that_only_claim_to_be_theirs() -> None:
    answers = []
    for name in NAMES:
        trail = Trail()
        headers = [("authorization", f"Bearer {forged(OTHERS, 1, name)}")]
        answers.append(
            (await exchange(entry_of(trail), "http", "GET", "/api", "", headers), trail.steps)
        )
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0][0]["status"] == 401 and answers[0][1] == ["look up"]


@pytest.mark.parametrize("secret", ["abcdef.0123456789abcdef", "a.b.c", "remote"])
async def test_all_tenants_answer_alike_to_tokens_of_others(secret: str) -> None:
    """One server, so that what it remembers of one tenant would show at the next."""
    trail = Trail()
    entry = entry_of(trail)
    server = entry.server = trail.server()

    async def get(tenant: Tenant, *_: Any) -> None:
        trail.steps.append("secret")
        if tenant.id == 0:
            raise TenantGone

    def lookup(tenant: Tenant) -> Any:
        return SimpleNamespace(get=lambda *_, fresh: get(tenant))

    review = {"kind": "TokenReview", "status": {"authenticated": False}}
    cast(Any, server.registry).lookup = lookup
    server.external = External(
        OidcTokens(trail.part("issuers", Issuers())),
        BootstrapTokens(),
        TokenWebhook(trail.part("review", json.dumps(review).encode()), time.monotonic),
    )
    answers = []
    for name in NAMES:
        trail.steps.clear()
        headers = [("authorization", f"Bearer {secret}")]
        path = f"/clusters/{name}/api"
        answers.append((await exchange(entry, "http", "GET", path, "", headers), [*trail.steps]))
    assert answers[0][0][0]["status"] == 401 and answers[0][1][-1] == "review"
    for answer in answers[1:]:
        assert answer == answers[0]


@pytest.mark.parametrize(
    "name",
    [
        "a" * 64,
        "x" * 30_000,
        "A",
        "a_b",
        "-a",
        "a-",
        "a.b",
        "%00",
        "%2e%2e",
        "a%2Fb",
        "%E2%82%AC",
        "a%0Ab",
        "*",
    ],
)
@pytest.mark.parametrize("token", ["", "pp_wrong", "everywhere"])
async def test_what_can_be_no_name_is_not_looked_up(name: str, token: str) -> None:
    trail = Trail()
    headers = [("authorization", f"Bearer {token}")] if token else []
    sent = await exchange(entry_of(trail), "http", "GET", f"/clusters/{name}/api", "", headers)
    assert "look up" not in trail.steps
    assert sent[0]["status"] == (401 if token else 403)


async def test_a_tenant_that_is_named_decides_about_anonymous_requests_itself() -> None:
    trail = Trail()
    entry = entry_of(trail)
    await exchange(entry, "http", "GET", "/clusters/here/version", "", [])
    assert trail.steps == ["look up"]
    assert entry.server is not None
    entry.server.anonymous_tenants = frozenset({"here", "asleep", "nowhere"})
    trail.steps.clear()
    sent = await exchange(entry, "http", "GET", "/clusters/here/healthz", "", [])
    assert sent[0]["status"] == 200 and trail.steps == [
        "look up",
        "seed",
        "definitions",
        "heard",
        "heads",
    ]
    for name in ("asleep", "nowhere"):
        trail.steps.clear()
        sent = await exchange(entry, "http", "GET", f"/clusters/{name}/api", "", [])
        assert sent[0]["status"] == 403 and trail.steps == ["look up"]
