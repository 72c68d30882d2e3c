"""Which tenant a request gets to, by what its path, its host, TLS and its token say: all
combinations against one table of what each token is good for."""

from __future__ import annotations

import base64
import itertools
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import orjson
import pytest

from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.authz.attributes import Decision
from apiserver.endpoints.entry import Entry
from apiserver.endpoints.request import PORT_OF, SERVER_NAME, Message
from apiserver.endpoints.server import Server
from apiserver.user import User
from tests.support.api import receive_of
from tests.support.waiting import at_once

DOMAIN = "api.example.com"
STATES = {"default": "active", "acme": "active", "asleep": "suspended", "leaving": "deleting"}
NUMBERS = {name: 1 + at for at, name in enumerate(STATES)}
ACCOUNT = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u"}}
OURS, OTHERS = AccountTokens(b"ours"), AccountTokens(b"another installation's")


class Good(NamedTuple):
    """home: the tenant that the token names itself; where: it is good."""

    home: str = "default"
    where: frozenset[str] = frozenset()


NOWHERE = Good()
ONE = {name: Good(name, frozenset({name})) for name in STATES}


def account_token(tenant: str, tokens: AccountTokens = OURS, uid: str = "u") -> str:
    account = {"metadata": {**ACCOUNT["metadata"], "uid": uid}}
    audiences = [OURS.issuer(tenant)]
    number = NUMBERS.get(tenant, 99)
    issuing = tokens.issue((number, tenant), account, audiences, {}, 3600, datetime.now(UTC))
    return at_once(issuing)


TOKENS = {
    "pp_everywhere": Good("default", frozenset({*STATES, "nowhere", "no_name"})),
    "pp_unknown": NOWHERE,
    **{f"pp_{name}": good for name, good in ONE.items()},
    **{account_token(name): good for name, good in ONE.items()},
    account_token("nowhere"): Good("nowhere"),
    account_token("acme", OTHERS): Good("acme"),
    account_token("acme", uid="gone"): Good("acme"),
    at_once(
        AccountTokens(b"ours", "https://elsewhere").issue(
            (2, "acme"), ACCOUNT, ["https://elsewhere"], {}, 3600, datetime.now(UTC)
        )
    ): NOWHERE,
    "a.b.c": NOWHERE,
}
ANONYMOUS = ""

PREFIXES = ["", "default", "acme", "asleep", "nowhere", "no_name"]
HOSTS = {
    "": "",
    "127.0.0.1:6443": "",
    "[::1]:6443": "",
    DOMAIN: "",
    "acme.elsewhere.com": "",
    f"not{DOMAIN}": "",
    f"acme.{DOMAIN}:6443": "acme",
    f"ACME.{DOMAIN.upper()}.": "acme",
    f"asleep.{DOMAIN}": "asleep",
    f"nowhere.{DOMAIN}": "nowhere",
    f"no_name.{DOMAIN}": "no_name",
    f"x.acme.{DOMAIN}": "x.acme",
}
SERVER_NAMES = {"": "", DOMAIN: "", f"acme.{DOMAIN}": "acme", f"leaving.{DOMAIN}": "leaving"}


def expected(token: str, named: set[str]) -> tuple[int, str]:
    """(status, the tenant that is reached) of a request whose path, host and TLS name these."""
    if len(named) > 1:
        return 400, ""
    good = TOKENS.get(token, NOWHERE)
    name = next(iter(named), good.home)
    if token == ANONYMOUS:
        return (200, name) if name == "default" else (403, "")
    if name not in good.where and token != "pp_everywhere":
        return 401, ""
    if name not in STATES:
        return 404, ""
    return (200, name) if STATES[name] == "active" else (403, "")


class Directory:
    async def tenant(self, name: str) -> Any:
        if name not in STATES:
            return None
        return SimpleNamespace(
            id=NUMBERS[name], name=name, state=STATES[name], max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        name = secret.removeprefix("pp_")
        good = name == "everywhere" or NUMBERS.get(name) == tenant_id
        return User(name, everywhere=name == "everywhere") if good else None

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        return TOKENS[secret].home


class Accounts:
    async def get(self, *_: Any, fresh: bool = False) -> Any:
        return ACCOUNT


async def nothing(*_: Any) -> None:
    return None


async def allow(*_: Any) -> Decision:
    return Decision(True)


def server(domain: str = DOMAIN) -> Server:
    registry = SimpleNamespace(
        watches=SimpleNamespace(
            heard=nothing, turnover=lambda tenant: SimpleNamespace(bytes=0), behind=0
        ),
        lookup=lambda tenant: Accounts(),
    )
    steps = SimpleNamespace(ensure=nothing, ready=nothing)
    return Server(
        registry=cast(Any, registry),
        catalog=cast(Any, steps),
        definitions=cast(Any, steps),
        directory=cast(Any, Directory()),
        authorizer=cast(Any, SimpleNamespace(authorize=allow)),
        seeder=cast(Any, steps),
        git_version="v1",
        tokens=OURS,
        tenant_domain=domain,
        started=True,
    )


async def ask(
    of: Server,
    path: str,
    headers: list[tuple[str, str]],
    server_name: str = "",
    kind: str = "http",
    port_of: str = "",
) -> list[Message]:
    async def make() -> Server:
        return of

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": kind,
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in headers],
        "extensions": {
            **({SERVER_NAME: server_name} if server_name else {}),
            **({PORT_OF: port_of} if port_of else {}),
        },
    }
    received = {"type": "websocket.connect"} if kind == "websocket" else b""
    await Entry(make, cast(Any, None), cast(Any, None))(
        scope, receive_of(cast(Any, received)), send
    )
    return sent


def headers(token: str, host: str) -> list[tuple[str, str]]:
    sent = [("host", host)] if host else []
    return [*sent, ("authorization", f"Bearer {token}")] if token else sent


def reached(sent: list[Message]) -> tuple[int, str]:
    """(status, the tenant whose keys the answer shows)."""
    status = sent[0]["status"]
    if status != 200:
        return status, ""
    kid = orjson.loads(sent[1]["body"])["keys"][0]["kid"]
    return status, next(
        name for name, at in NUMBERS.items() if kid in at_once(OURS.keys.ring(at)).keys
    )


@pytest.mark.parametrize("token", [ANONYMOUS, *TOKENS])
async def test_the_table(token: str) -> None:
    of = server()
    for prefix, host, name in itertools.product(PREFIXES, HOSTS, SERVER_NAMES):
        path = f"/clusters/{prefix}/openid/v1/jwks" if prefix else "/openid/v1/jwks"
        answer = reached(await ask(of, path, headers(token, host), name))
        named = {prefix, HOSTS[host], SERVER_NAMES[name]} - {""}
        assert answer == expected(token, named), (prefix, host, name)


@pytest.mark.parametrize("token", [ANONYMOUS, *TOKENS])
async def test_without_a_domain_hosts_name_nobody(token: str) -> None:
    of = server(domain="")
    for prefix, host in itertools.product(PREFIXES, HOSTS):
        path = f"/clusters/{prefix}/openid/v1/jwks" if prefix else "/openid/v1/jwks"
        answer = reached(await ask(of, path, headers(token, host), f"acme.{DOMAIN}"))
        assert answer == expected(token, {prefix} - {""}), (prefix, host)


@pytest.mark.parametrize("domain", ["", DOMAIN])
@pytest.mark.parametrize("token", [ANONYMOUS, *TOKENS])
async def test_a_port_names_its_tenant(token: str, domain: str) -> None:
    of = server(domain)
    for prefix, host, port in itertools.product(PREFIXES, HOSTS, PREFIXES):
        path = f"/clusters/{prefix}/openid/v1/jwks" if prefix else "/openid/v1/jwks"
        answer = reached(await ask(of, path, headers(token, host), port_of=port))
        named = {prefix, HOSTS[host] if domain else "", port} - {""}
        assert answer == expected(token, named), (prefix, host, port)


async def test_a_port_of_one_tenant_has_no_console() -> None:
    console: list[str] = []

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        console.append(scope["path"])

    async def make() -> Server:
        return server()

    async def send(message: Message) -> None:
        pass

    entry = Entry(make, cast(Any, None), cast(Any, serve))
    for extensions, expected in (({}, ["/admin/"]), ({PORT_OF: "acme"}, [])):
        console.clear()
        scope = {"type": "http", "method": "GET", "path": "/admin/", "headers": []}
        await entry({**scope, "extensions": extensions}, receive_of(b""), send)
        assert console == expected


async def test_a_disagreement_names_both_and_nothing_else() -> None:
    path = "/clusters/acme/api"
    (start, body) = await ask(server(), path, [("host", f"nowhere.{DOMAIN}")])
    assert start["status"] == 400
    assert orjson.loads(body["body"])["message"] == (
        'the request is for more than one tenant: the path names "acme", the host names "nowhere"'
    )


async def test_two_hosts_are_none() -> None:
    twice = [("host", "127.0.0.1"), ("host", f"acme.{DOMAIN}")]
    assert (await ask(server(), "/version", twice))[0]["status"] == 400
    assert (await ask(server(domain=""), "/version", twice))[0]["status"] == 200


@pytest.mark.parametrize("token", ["pp_acme", account_token("acme")])
async def test_a_websocket_gets_to_the_tenant_of_its_token(token: str) -> None:
    encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    bearer = f"base64url.bearer.authorization.k8s.io.{encoded}"
    protocol = ("sec-websocket-protocol", f"{bearer}, v4.channel.k8s.io")
    asked: list[str] = []

    async def authorize(tenant: Any, *_: Any) -> Decision:
        asked.append(tenant.name)
        return Decision(True)

    of = server()
    of.authorizer = cast(Any, SimpleNamespace(authorize=authorize))
    await ask(of, "/api/v1/pods", [protocol], kind="websocket")
    assert asked == ["acme"]


async def test_metrics_of_the_installation_are_not_at_a_tenants_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from apiserver.endpoints import metrics, storage_size
    from apiserver.endpoints.views import metrics as view

    monkeypatch.setattr(view, "COUNT_EVERY", 0.0)
    monkeypatch.setattr(storage_size, "_KEPT", 0.0)
    counted: list[int | None] = []

    async def counts(tenant: int | None) -> dict[Any, int]:
        counted.append(tenant)
        return {}

    sized: list[int] = []

    async def size() -> int:
        sized.append(7)
        return 7

    async def root(secret: str, tenant_id: int) -> User:
        return User("root", groups=("system:masters",), everywhere=True)

    of = server()
    of.registry.store = cast(Any, SimpleNamespace(counts=counts, size=size))  # type: ignore[misc]
    of.directory.token = root  # type: ignore[method-assign]
    monkeypatch.setattr(metrics.ALL, "due", 0.0)
    for host in ("127.0.0.1", f"acme.{DOMAIN}"):
        assert (await ask(of, "/metrics", headers("pp_everywhere", host)))[0]["status"] == 200
    assert (await ask(of, "/clusters/default/metrics", headers("pp_everywhere", "")))[0][
        "status"
    ] == 200
    assert counted == [None, NUMBERS["acme"], NUMBERS["default"]]
    assert len(sized) == 1, "how large the installation is concerns no tenant"
