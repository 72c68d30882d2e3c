"""The console's way to the API. Who gets through, by what:

| the request | answer |
|---|---|
| no cookie, a made-up one, a session that has ended or run out, a page of another account | 401 |
| of an account that was disabled, is no staff, whose password was changed | 401 |
| of a superuser | as system:masters |
| of an account with a binding in one tenant | what the binding says, there and only there |
| of polyplane:viewers | all objects of all tenants but Secrets, reading only |
| of polyplane:editors | what each tenant's ClusterRole edit allows but for Secrets |
| cross-site, same-site, typed into the address bar; GET as well as POST | 403 |
| without Fetch Metadata | by its Origin; 403 without one |
| not GET or HEAD, without CSRF token, with another's, without CSRF cookie | 403 |
| with Authorization, whatever it says | 400 |
| with Impersonate-* | 403, for superusers, too |
| with a client certificate, X-Remote-* | as if it had none |
| a cookie at the API's own paths | nobody's |
| for another tenant | by that tenant's RBAC (tests/browser/test_lists.py has several) |
| a watch whose session ends | ends |
| a path with .., %2e, // or an escaped prefix | never another's rights: 4xx, or what the API says |
| HEAD, OPTIONS, methods that nobody knows | 2xx or 405 by the API; the last two only with a token |
| a body above the API's limit | 413 |
| at a tenant's own port | no console there |
| a WebSocket | closed: it carries no session |
| while the database is away, or too many invent cookies | 503; watches go on until somebody knows |
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import unquote

import orjson
import pytest
import pytest_asyncio
from django.contrib.auth.models import Group, User
from django.test import Client

from apiserver.endpoints.entry import Entry
from apiserver.endpoints.request import CLIENT_CERTIFICATE, PORT_OF, Message
from apiserver.endpoints.server import Server
from apiserver.platformroles import EDITORS, VIEWERS
from controlplane.console.gateway import Gateway
from controlplane.console.sessions import Sessions
from controlplane.console.sessionstore import AccountSession
from tests.support.api import Api, receive_of, serving
from tests.support.fixtures import in_thread
from tests.support.grants import role, rule
from tests.support.memorystore import MemoryStore
from tests.support.users import RBAC, authorizing
from tests.support.waiting import PATIENCE

HOST = "console.example.com"
MAPS = "/admin/api/clusters/acme/api/v1/namespaces/shop/configmaps"
CSRF = "a" * 32
OURS = {"sec-fetch-site": "same-origin", "host": HOST}
WRITING = {**OURS, "origin": f"https://{HOST}", "x-csrftoken": CSRF}
NAMES = ("root", "ann", "looker", "editor", "customer")


class World:
    """An API behind the gateway, with accounts that have logged in."""

    def __init__(self, api: Api, keys: dict[str, str]) -> None:
        async def make() -> Server:
            return api.server

        self.api, self.keys = api, keys
        self.sessions = Sessions()
        self.entry = Entry(
            make,
            cast(Any, None),
            Gateway(self.console, lambda *asked: self.entry.identified(*asked), self.sessions),
        )

    async def console(self, scope: Message, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b"the console"})

    def scope(
        self, method: str, path: str, who: str = "", headers: dict[str, str] | None = None
    ) -> Message:
        """``who``: an account, or the key of a session itself."""
        path, _, query = path.partition("?")
        cookie = f"polyplane_session={self.keys.get(who, who)}; polyplane_csrf={CSRF}"
        sent = {"cookie": cookie, **(OURS if method == "GET" else WRITING)}
        sent = sent if headers is None else {"cookie": cookie, "host": HOST, **headers}
        return {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }

    async def ask(
        self,
        method: str,
        path: str,
        who: str = "",
        headers: dict[str, str] | None = None,
        body: Any = None,
        **scope: Any,
    ) -> tuple[int, Any]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        data = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        asked = {**self.scope(method, path, who, headers), **scope}
        if body is not None:
            asked["headers"].append((b"content-type", b"application/json"))
        await self.entry(asked, receive_of(data), send)
        text = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], orjson.loads(text) if text[:1] == b"{" else text

    async def forgotten(self) -> None:
        """What is remembered of sessions is not any more."""
        self.sessions._known.clear()


@pytest.fixture
def keys(postgres: str) -> Iterator[dict[str, str]]:
    """Sessions of accounts; ``customer`` may not use the console."""
    found = {}
    for name in NAMES:
        account, _ = User.objects.get_or_create(username=name)
        account.is_staff, account.is_superuser = name != "customer", name == "root"
        account.is_active = True
        account.save()
        client = Client()
        client.force_login(account)
        found[name] = client.session.session_key or ""
    looker = User.objects.get(username="looker")
    looker.groups.set([Group.objects.get_or_create(name=VIEWERS)[0]])
    editor = User.objects.get(username="editor")
    editor.groups.set([Group.objects.get_or_create(name=EDITORS)[0]])
    yield found
    User.objects.filter(username__in=NAMES).delete()


@pytest_asyncio.fixture
async def world(keys: dict[str, str]) -> AsyncIterator[World]:
    """Tenant acme with ConfigMap and Secret ``one``; ann may do all with ConfigMaps."""
    async with serving(MemoryStore(), 1) as api:
        authorizing(api)
        world = World(api, keys)
        await _fill(world)
        yield world


async def _fill(world: World) -> None:
    objects = [
        (MAPS, {"metadata": {"name": "one"}}),
        (MAPS.replace("configmaps", "secrets"), {"metadata": {"name": "one"}}),
        (
            f"/admin/api/clusters/acme{RBAC}/clusterroles",
            {
                "metadata": {"name": "maps"},
                "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
            },
        ),
        (
            f"/admin/api/clusters/acme{RBAC}/clusterroles",
            role("edit", [rule("configmaps secrets", ["*"], "")]),
        ),
        (
            f"/admin/api/clusters/acme{RBAC}/clusterrolebindings",
            {
                "metadata": {"name": "maps"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "maps",
                },
                "subjects": [
                    {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}
                ],
            },
        ),
    ]
    for path, obj in objects:
        status, answer = await world.ask("POST", path, "root", body=obj)
        assert status == 201, answer


async def test_a_session_acts_as_its_account(world: World) -> None:
    status, review = await world.ask(
        "POST",
        "/admin/api/apis/authentication.k8s.io/v1/selfsubjectreviews",
        "root",
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    info = review["status"]["userInfo"]
    number = (await in_thread(lambda: User.objects.get(username="root"))).pk
    assert (status, info["username"], info["uid"]) == (201, "root", f"console:{number}")
    assert set(info["groups"]) == {"system:masters", "system:authenticated"}
    assert info["extra"] == {"authentication.polyplane.dev/source": ["console"]}
    sent = {**OURS, "x-console-account": "console:0"}
    assert (await world.ask("GET", f"{MAPS}/one", "root", sent))[0] == 401


@pytest.mark.parametrize("key", ["", "x" * 32, "x" * 500, "\u00e4"])
async def test_without_a_session_there_is_nobody(world: World, key: str) -> None:
    status, answer = await world.ask("GET", f"{MAPS}/one", key)
    assert status == 401 and answer["reason"] == "Unauthorized"
    for cookie in ("", "polyplane_session", "=", f"sessionid={world.keys['root']}"):
        sent = {**OURS, "cookie": cookie}
        assert (await world.ask("GET", f"{MAPS}/one", "root", sent))[0] == 401


async def _end_session(key: str) -> None:
    await in_thread(lambda: AccountSession.objects.filter(session_key=key).delete())


async def _change(name: str, **values: Any) -> None:
    await in_thread(lambda: User.objects.filter(username=name).update(**values))


@pytest.mark.parametrize("how", ["logout", "run out", "disabled", "no staff", "password"])
async def test_what_ends_a_session_ends_its_way_to_the_api(world: World, how: str) -> None:
    assert (await world.ask("GET", f"{MAPS}/one", "ann"))[0] == 200
    match how:
        case "logout":
            await _end_session(world.keys["ann"])
        case "run out":
            await in_thread(
                lambda: AccountSession.objects.filter(session_key=world.keys["ann"]).update(
                    expire_date=datetime(2020, 1, 1, tzinfo=UTC)
                )
            )
        case "disabled":
            await _change("ann", is_active=False)
        case "no staff":
            await _change("ann", is_staff=False)
        case "password":
            await _change("ann", password="another")
    await world.forgotten()
    assert (await world.ask("GET", f"{MAPS}/one", "ann"))[0] == 401


async def test_a_customer_is_nobody_here(world: World) -> None:
    assert (await world.ask("GET", f"{MAPS}/one", "customer"))[0] == 401


@pytest.mark.parametrize(
    ("who", "method", "path", "status"),
    [
        ("ann", "GET", f"{MAPS}/one", 200),
        ("ann", "DELETE", f"{MAPS}/one", 200),
        ("ann", "GET", f"{MAPS.replace('configmaps', 'secrets')}/one", 403),
        ("looker", "GET", f"{MAPS}/one", 200),
        ("looker", "GET", MAPS, 200),
        ("looker", "GET", f"{MAPS}?watch=1&timeoutSeconds=1", 200),
        ("looker", "GET", "/admin/api/clusters/acme/api/v1/secrets", 403),
        ("looker", "GET", f"{MAPS.replace('configmaps', 'secrets')}/one", 403),
        ("looker", "GET", "/admin/api/clusters/acme/api/v1/namespaces/shop/pods/p/exec", 403),
        ("looker", "DELETE", f"{MAPS}/one", 403),
        ("looker", "DELETE", MAPS, 403),
        ("looker", "GET", "/admin/api/metrics", 403),
        ("editor", "GET", MAPS, 200),
        ("editor", "DELETE", f"{MAPS}/one", 200),
        ("editor", "DELETE", MAPS, 200),
        ("editor", "GET", f"{MAPS.replace('configmaps', 'secrets')}/one", 403),
        ("editor", "DELETE", f"{MAPS.replace('configmaps', 'secrets')}/one", 403),
        ("editor", "GET", f"/admin/api/clusters/acme{RBAC}/clusterroles", 403),
        ("editor", "GET", "/admin/api/metrics", 403),
        ("root", "DELETE", f"{MAPS}/one", 200),
    ],
)
async def test_rights_are_the_accounts(
    world: World, who: str, method: str, path: str, status: int
) -> None:
    assert (await world.ask(method, path, who))[0] == status


STRANGE = ["https://evil.example", "null", f"https://{HOST}.evil.example", f"http://{HOST}"]
STRANGE += [HOST, f"//{HOST}", "https://["]
REFUSED = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
    {"sec-fetch-site": "cross-site", "origin": f"https://{HOST}", "x-csrftoken": CSRF},
    {},
    *({"origin": origin} for origin in STRANGE),
    {"referer": f"https://{HOST}/admin/console/"},
]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
@pytest.mark.parametrize("headers", REFUSED)
async def test_only_our_own_pages_may_ask(
    world: World, method: str, headers: dict[str, str]
) -> None:
    status, answer = await world.ask(method, f"{MAPS}/one", "root", headers)
    assert status == 403
    assert method == "HEAD" or "only the console's own pages" in answer["message"]
    assert (await world.ask("GET", f"{MAPS}/one", "root"))[0] == 200


async def test_a_browser_without_fetch_metadata_is_known_by_its_origin(world: World) -> None:
    origin = {"origin": f"https://{HOST}"}
    assert (await world.ask("GET", f"{MAPS}/one", "root", origin))[0] == 200
    sent = {**origin, "x-csrftoken": CSRF}
    assert (await world.ask("DELETE", f"{MAPS}/one", "root", sent))[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"])
@pytest.mark.parametrize(
    "changed",
    [
        {"x-csrftoken": ""},
        {"x-csrftoken": "b" * 32},
        {"x-csrftoken": "short"},
        {"cookie": "polyplane_session={key}"},
        {"cookie": f"polyplane_session={{key}}; polyplane_csrf={'b' * 32}"},
        {"origin": "https://evil.example"},
    ],
)
async def test_what_changes_something_has_the_pages_token(
    world: World, method: str, changed: dict[str, str]
) -> None:
    key = world.keys["root"]
    cookie = f"polyplane_session={key}; polyplane_csrf={CSRF}"
    sent = {"cookie": cookie, **WRITING, **{n: v.format(key=key) for n, v in changed.items()}}
    status, answer = await world.ask(method, f"{MAPS}/one", "root", sent)
    assert status == 403 and answer["reason"] == "Forbidden", answer
    assert (await world.ask("GET", f"{MAPS}/one", "root"))[0] == 200


@pytest.mark.parametrize("value", ["Bearer root", "Basic eDp5", "Bearer", ""])
async def test_nothing_else_says_who_asks(world: World, value: str) -> None:
    sent = {**OURS, "authorization": value}
    assert (await world.ask("GET", f"{MAPS}/one", "ann", sent))[0] == 400


@pytest.mark.parametrize("who", ["root", "ann"])
@pytest.mark.parametrize("name", ["impersonate-user", "impersonate-group", "impersonate-extra-x"])
async def test_nobody_is_impersonated(world: World, who: str, name: str) -> None:
    sent = {**OURS, name: "root"}
    status, answer = await world.ask("GET", f"{MAPS}/one", who, sent)
    assert status == 403 and "impersonated" in answer["message"]


async def test_certificates_and_proxies_headers_say_nothing_here(world: World) -> None:
    presented = {"extensions": {CLIENT_CERTIFICATE: SimpleNamespace()}}
    secrets = f"{MAPS.replace('configmaps', 'secrets')}/one"
    sent = {**OURS, "x-remote-user": "root", "x-remote-group": "system:masters"}
    assert (await world.ask("GET", secrets, "ann", sent, **presented))[0] == 403
    assert (await world.ask("GET", f"{MAPS}/one", "", sent, **presented))[0] == 401
    unnamed = MAPS.replace("/clusters/acme", "")  # where a certificate would say the tenant
    assert (await world.ask("GET", f"{unnamed}/one", "ann", sent, **presented))[0] == 200


async def test_the_apis_own_paths_look_at_no_cookie(world: World) -> None:
    own = MAPS.removeprefix("/admin/api")
    world.api.server.anonymous_tenants = frozenset()
    status, answer = await world.ask("GET", f"{own}/one", "root")
    assert status == 403 and "system:anonymous" in answer["message"]
    assert (await world.ask("DELETE", f"{own}/one", "root"))[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/admin/api/../clusters/acme/api/v1/secrets",
        "/admin/api/%2e%2e/clusters/acme/api/v1/secrets",
        "/admin/api//clusters/acme/api/v1/secrets",
        "/admin/api/clusters/acme//api/v1/secrets",
        "/admin/api/clusters/../acme/api/v1/secrets",
        "/admin/api/clusters/acme/../../admin/api/api/v1/secrets",
        "/admin/%61pi/clusters/acme/api/v1/secrets",
        "/admin/api/admin/api/clusters/acme/api/v1/secrets",
        "/admin/api",
        "/admin/api/",
        "/admin/apis/clusters/acme/api/v1/secrets",
    ],
)
async def test_odd_paths_give_nobody_other_rights(world: World, path: str) -> None:
    for who in ("ann", "looker", ""):
        status, answer = await world.ask("GET", path, who)
        assert status >= 299 or b"secrets" not in orjson.dumps(answer), (who, status, answer)
        assert status < 500


@pytest.mark.parametrize("prefix", ["/admin/%61pi", "/%61dmin/api", "/admin%2fapi"])
async def test_a_prefix_in_disguise_is_the_consoles_page(world: World, prefix: str) -> None:
    """Nobody but Django's pages, which ask for nothing there, sees such a path."""
    path = f"{prefix}{MAPS.removeprefix('/admin/api')}/one"
    for who in ("ann", "root", ""):
        assert await world.ask("GET", path, who) == (299, b"the console")


async def test_methods_that_nobody_knows_are_the_apis_to_refuse(world: World) -> None:
    assert (await world.ask("HEAD", f"{MAPS}/one", "ann", OURS))[0] in {200, 405}
    for method in ("OPTIONS", "TRACE", "FOO"):
        assert (await world.ask(method, f"{MAPS}/one", "root"))[0] in {200, 403, 405}


async def test_a_body_above_the_limit_is_refused(world: World) -> None:
    large = {"metadata": {"name": "large"}, "data": {"x": "y" * (4 * 1024 * 1024)}}
    assert (await world.ask("POST", MAPS, "root", body=large))[0] == 413


async def test_a_tenants_own_port_has_no_console(world: World) -> None:
    at_port = {"extensions": {PORT_OF: "acme"}}
    status, _ = await world.ask("GET", f"{MAPS}/one", "root", **at_port)
    assert status in {403, 404}


async def test_a_websocket_carries_no_session(world: World) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {**world.scope("GET", f"{MAPS}?watch=1", "root"), "type": "websocket"}
    await world.entry(scope, receive_of(cast(Any, {"type": "websocket.connect"})), send)
    assert sent[-1]["type"] == "websocket.close" and sent[-1]["code"] >= 4400


@pytest.mark.parametrize("how", ["logout", "role"])
async def test_a_watch_ends_with_its_session(world: World, how: str) -> None:
    sent: asyncio.Queue[Message] = asyncio.Queue()
    scope = world.scope("GET", f"{MAPS}?watch=1", "looker")
    watching = asyncio.create_task(world.entry(scope, receive_of(b""), sent.put))
    async with asyncio.timeout(PATIENCE):
        assert (await sent.get())["status"] == 200
        while b'"one"' not in (await sent.get()).get("body", b""):
            pass
        if how == "logout":
            await _end_session(world.keys["looker"])
        else:
            await in_thread(lambda: User.objects.get(username="looker").groups.clear())
        await watching
    last = None
    while not sent.empty():
        last = sent.get_nowait()
    assert last is not None and not last.get("more_body"), "the client sees an end"


async def test_what_is_not_the_gateways_goes_to_the_console(world: World) -> None:
    for path in ("/admin/", "/admin/console/", "/admin/apiary", "/admin/login/"):
        assert await world.ask("GET", path) == (299, b"the console")
