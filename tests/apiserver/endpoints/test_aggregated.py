"""Requests that an API server of the tenant's own answers, over real HTTPS: what it sees, what
comes back, and what happens when it is slow, dead, huge, odd or somebody else's."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from admission.webhooks.addresses import AddressPolicy
from apiserver.aggregation import backends, transport
from apiserver.aggregation import documents as kept
from apiserver.aggregation.aggregator import Aggregator
from apiserver.authn.frontproxy import NAME as CLIENT
from apiserver.authn.frontproxy import FrontProxy
from apiserver.controllers import aggregation
from apiserver.controllers.aggregation import AggregationController
from apiserver.endpoints.request import Message
from apiserver.endpoints.views import aggregated
from apiserver.storage import tenants
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.api import Api, receive_of, serving
from tests.support.apiservers import (
    GROUP,
    NAME,
    PATH,
    Answering,
    ApiServer,
    Asked,
    Handler,
    api_server,
    documents,
)
from tests.support.fixtures import in_thread
from tests.support.installation import free_port
from tests.support.storage import numbers

# A handshake that a test gave up (a look at a server that was stopped, a client that left) ends
# when its loop does, and asyncio then calls its transport unclosed, wherever it is collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SERVICE = f"/apis/apiregistration.k8s.io/v1/apiservices/{NAME}"
THINGS = f"{PATH}/namespaces/ns/things"
FRONT = FrontProxy(b"a secret of this installation")


def teardown_module() -> None:
    """What this module leaves is collected here, and not in somebody else's test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class Directory:
    """Two tenants, and a user with all that a user can have."""

    def __init__(self, default: int, acme: int) -> None:
        self.numbers = {"default": default, "acme": acme}

    async def tenant(self, name: str) -> Any:
        number = self.numbers.get(name)
        return number and SimpleNamespace(
            id=number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return User("ann", "u-1", ("dev", "system:authenticated"), {"Team/x": ("a", "b")})

    async def home(self, secret: str) -> str:
        return "default"


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    other = next(numbers)
    await in_thread(lambda: tenants.create(other))
    async with serving(store, tenant) as made:
        made.server.directory = Directory(tenant, other)
        made.server.anonymous_tenants = frozenset({"default", "acme"})
        aggregator = Aggregator(made.registry, AddressPolicy(), FRONT)
        made.server.aggregator = aggregator
        candidate = Candidate(store.database, "here")
        controller = AggregationController(made.registry, aggregator, candidate, made.catalog.used)
        yield made
        await controller.stop()
        aggregator.stop()
    await in_thread(lambda: tenants.drop(other))


async def available(api: Api, prefix: str = "", reason: str = "Passed") -> Any:
    """The condition, once it has that reason."""
    async with asyncio.timeout(20):
        while True:
            status = (await api.ok("GET", prefix + SERVICE))["status"]
            for condition in status.get("conditions") or ():
                if condition["reason"] == reason:
                    return condition
            await asyncio.sleep(0.02)


@asynccontextmanager
async def using(
    api: Api, handler: Handler = documents, prefix: str = "", authority: bytes = b"", **spec: Any
) -> AsyncIterator[ApiServer]:
    """A server that the tenant uses and that is there."""

    async def both(asked: Asked, answer: Answering) -> None:
        known = asked.target in (PATH, "/apis") or asked.target.startswith("/openapi")
        await (documents if known else handler)(asked, answer)

    async with api_server(both, authority=authority) as server:
        for path, body in server.objects(**spec):
            await api.ok("POST", prefix + path, body)
        await available(api, prefix)
        server.asked.clear()
        yield server


def answering(body: Any, status: int = 200, **headers: str) -> Handler:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.whole(body, status, **headers)

    return handler


def mine(server: ApiServer) -> Asked:
    """The one request that was not this server's own."""
    (asked,) = (a for a in server.asked if a.header("x-remote-user") != "system:kube-aggregator")
    return asked


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_every_method_goes_on_as_it_came(api: Api, method: str) -> None:
    async with using(api, answering({"kind": "Thing"}, 201, x_theirs="1")) as server:
        body = {"a": 1} if method != "GET" else None
        path, kind = f"{THINGS}/x%20y?dryRun=All&a=%20", "application/merge-patch+json"
        length = {"content-length": str(len(b'{"a":1}'))} if body else {}
        status, answer = await api(method, path, body, kind, **length)
        assert (status, answer) == (201, {"kind": "Thing"})
        asked = mine(server)
        assert (asked.method, asked.target) == (method, f"{THINGS}/x%20y?dryRun=All&a=%20")
        assert asked.header("content-type") == "application/merge-patch+json"


@pytest.mark.parametrize(
    "path",
    ["a%2Fstatus", "a%2fstatus", "../things", "a/%2e%2e/b", "%2E", "a%5Cstatus", "a%00", "a%0Ab"],
)
async def test_a_path_that_can_be_read_in_two_ways_goes_nowhere(api: Api, path: str) -> None:
    async with using(api, answering({})) as server:
        assert (await api("GET", f"{THINGS}/{path}"))[0] == 404
        assert not [a for a in server.asked if THINGS in a.target]


async def test_a_body_goes_on_with_its_length_or_in_chunks(api: Api) -> None:
    async with using(api, answering({})) as server:
        body = b"x" * 300_000
        await api.raw("POST", THINGS, body, "a/b", **{"content-length": str(len(body))})
        await api.raw("POST", THINGS, body, "a/b", **{"transfer-encoding": "chunked"})
        length = {"content-length": str(len(body)), "connection": "content-length"}
        await api.raw("POST", THINGS, body, "a/b", **length)
        bodies = [a.body for a in server.asked if a.method == "POST"]
        assert bodies == [body, body, body]


async def test_the_server_is_told_who_asks_and_nothing_that_is_not_its_business(api: Api) -> None:
    async with using(api, answering({}), authority=FRONT.authority(api.tenant.id)) as server:
        sent = {
            "authorization": "Bearer secret",
            "cookie": "polyplane_session=s",
            "x-remote-user": "root",
            "x-remote-group": "system:masters",
            "x-remote-uid": "0",
            "x-remote-extra-scopes": "all",
            "x_remote_user": "root",
            "x-remote_group": "system:masters",
            "x_remote_extra_scopes": "all",
            "impersonate_user": "root",
            "content_length": "9",
            "x-forwarded-for": "192.0.2.1",
            "connection": "x-mine, keep-alive",
            "x-mine": "1",
            "te": "trailers",
            "proxy-authorization": "Basic x",
            "accept": "application/json",
            "user-agent": "kubectl/1",
            "audit-id": "an-audit-id",
        }
        assert (await sent_by(api, f"{THINGS}/x", **sent))[0]["status"] == 200
        asked = mine(server)
        assert asked.client == CLIENT
        assert asked.headers["x-remote-user"] == ["ann"]
        assert asked.headers["x-remote-uid"] == ["u-1"]
        assert asked.headers["x-remote-group"] == ["dev", "system:authenticated"]
        assert asked.headers["x-remote-extra-team%2fx"] == ["a", "b"]
        gone = {"authorization", "cookie", "x-remote-extra-scopes", "x-mine", "te", "connection"}
        assert not {*gone, "proxy-authorization"} & set(asked.headers)
        assert not [name for name in asked.headers if "_" in name]
        assert asked.header("x-forwarded-for") == "192.0.2.1"
        assert asked.header("x-forwarded-uri") == f"{THINGS}/x"
        assert asked.header("audit-id") == "an-audit-id"
        assert (asked.header("accept"), asked.header("user-agent")) == (
            "application/json",
            "kubectl/1",
        )
        assert asked.header("host") == f"theirs.ns.svc:{server.port}"


async def sent_by(api: Api, path: str, **headers: str) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await api._entry(scope_of(path, headers), receive_of(b""), send)
    return sent


def scope_of(path: str, headers: dict[str, str]) -> Message:
    path, _, query = path.partition("?")
    raw = [(k.encode(), v.encode()) for k, v in headers.items()]
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": raw,
    }


async def test_an_answer_cannot_act_as_a_page_of_this_host(api: Api) -> None:
    page = answering(
        b"<script>1</script>",
        content_type="text/html",
        set_cookie="polyplane_session=x",
        access_control_allow_origin="*",
        connection="x-hop",
        x_hop="1",
        keep_alive="timeout=5",
        strict_transport_security="max-age=1",
        x_theirs="1",
    )
    async with using(api, page):
        start = (await sent_by(api, f"{THINGS}/x"))[0]
        headers = dict(start["headers"])
        assert headers[b"content-security-policy"] == b"default-src 'none'; sandbox"
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"x-theirs"] == b"1" and headers[b"content-type"] == b"text/html"
        gone = {b"set-cookie", b"access-control-allow-origin", b"x-hop", b"keep-alive"}
        assert not {*gone, b"connection", b"strict-transport-security"} & set(headers)


async def test_a_watch_streams_and_ends_with_its_client(api: Api) -> None:
    more = asyncio.Event()

    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="application/json", transfer_encoding="chunked")
        await answer.send(b'{"type":"ADDED","object":{}}\n')
        await more.wait()
        await answer.send(b'{"type":"MODIFIED","object":{}}\n')
        await asyncio.Event().wait()

    async with using(api, handler) as server:
        watch = api.watch(f"{THINGS}?watch=true")
        assert (await watch.next() or {})["type"] == "ADDED"
        more.set()
        assert (await watch.next() or {})["type"] == "MODIFIED"
        ended = server.gone
        await watch.stop()
        await api.until(lambda: server.gone > ended)


async def test_a_client_that_hangs_up_ends_the_request_behind(api: Api) -> None:
    async def never(asked: Asked, answer: Answering) -> None:
        await asyncio.Event().wait()

    async with using(api, never) as server:
        leaving = asyncio.Event()
        parts: list[Message] = [{"type": "http.request", "body": b""}]

        async def receive() -> Message:
            if parts:
                return parts.pop()
            await leaving.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            raise AssertionError("nobody is there")

        asking = asyncio.create_task(api._entry(scope_of(f"{THINGS}/x", {}), receive, send))
        await api.until(lambda: any(a.target == f"{THINGS}/x" for a in server.asked))
        ended = server.gone
        leaving.set()
        await asking
        await api.until(lambda: server.gone > ended)


async def test_a_huge_answer_streams(api: Api) -> None:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="application/json", transfer_encoding="chunked")
        for _ in range(64):
            await answer.send(b"x" * 262_144)
        await answer.end()

    async with using(api, handler):
        status, body = await api.raw("GET", f"{THINGS}/x", b"", "")
        assert (status, len(body)) == (200, 64 * 262_144)


@pytest.mark.parametrize("query", ["", "?watch=1"])
async def test_a_request_that_cannot_be_sent_on_is_answered(
    api: Api, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("no such header")

    async with using(api, answering({})):
        status, text = await api("GET", f"{THINGS}{query}", **{"x-odd": "a\x00b"})
        assert status == 503 and text.startswith(b"error trying to reach service: Illegal header")
        monkeypatch.setattr(aggregated.headers, "onward", broken)
        assert await api("GET", f"{THINGS}{query}") == (
            503,
            b"error trying to reach service: no such header\n",
        )


async def test_a_watch_that_does_not_begin_is_given_up(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregated, "BEGINNING", 0.2)

    async def never(asked: Asked, answer: Answering) -> None:
        await asyncio.Event().wait()

    async with using(api, never):
        status, answer = await api("GET", f"{THINGS}?watch=1")
        assert (status, answer["reason"]) == (504, "Timeout")


@pytest.mark.parametrize("long", [False, True])
async def test_a_slow_answer_is_given_up_unless_it_is_a_watch(
    api: Api, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    monkeypatch.setattr(aggregated, "PATIENCE", 0.3)
    go = asyncio.Event()

    async def handler(asked: Asked, answer: Answering) -> None:
        await go.wait()
        await answer.whole({"slow": True})

    async with using(api, handler):
        if long:
            asyncio.get_running_loop().call_later(0.6, go.set)
            assert await api("GET", f"{THINGS}?watch=1") == (200, {"slow": True})
        else:
            status, answer = await api("GET", f"{THINGS}/x")
            assert (status, answer["reason"]) == (504, "Timeout")
            assert answer["message"] == "request did not complete within the allotted timeout"


async def test_a_slow_document_is_given_up_sooner(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with using(api) as server:
        monkeypatch.setattr(aggregated, "DISCOVERY", 0.2)

        async def never(asked: Asked, answer: Answering) -> None:
            await asyncio.Event().wait()

        server.handler = never
        status, text = await api("GET", PATH)
        assert status == 503
        assert text == b"error trying to reach service: context deadline exceeded\n"


async def test_redirects_are_not_followed_and_not_passed_on(api: Api) -> None:
    async with using(api, answering(b"", 302, location="http://169.254.169.254/")):
        assert await api("GET", f"{THINGS}/x") == (
            502,
            b"the backend attempted to redirect this request, which is not permitted",
        )


async def test_a_status_code_that_is_none_is_not_passed_on(api: Api) -> None:
    async with using(api, answering(b"", 600)):
        assert (await api("GET", f"{THINGS}/x"))[0] == 502


async def test_tiny_chunks_go_on_together(api: Api) -> None:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="text/plain", transfer_encoding="chunked")
        answer.raw(b"1\r\nx\r\n" * 2_000 + b"0\r\n\r\n")

    async with using(api, handler):
        sent = await sent_by(api, f"{THINGS}/x")
        parts = [m["body"] for m in sent[1:] if m["body"]]
        assert b"".join(parts) == b"x" * 2_000 and len(parts) < 20


def hangs_up() -> Handler:
    async def handler(asked: Asked, answer: Answering) -> None:
        answer.hang_up()

    return handler


async def test_a_server_that_hangs_up_is_told_of(api: Api) -> None:
    async with using(api, hangs_up()):
        status, text = await api("GET", f"{THINGS}/x")
        assert status == 503 and text.startswith(b"error trying to reach service: ")


async def test_an_answer_that_breaks_off_does_not_look_complete(api: Api) -> None:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="application/json", content_length="100")
        await answer.send(b"{")
        answer.hang_up()

    async with using(api, handler):
        sent = await sent_by(api, f"{THINGS}/x")
        assert sent[0]["status"] == 200
        assert all(message["more_body"] for message in sent[1:])


async def test_a_server_that_is_dead_is_not_asked_and_hurts_nobody(api: Api) -> None:
    server = ApiServer(documents, free_port())
    for path, body in server.objects():
        await api.ok("POST", path, body)
    condition = await available(api, reason="FailedDiscoveryCheck")
    assert condition["status"] == "False" and "connection refused" in condition["message"]
    assert await api("GET", f"{THINGS}/x") == (503, b"service unavailable\n")
    assert await api("GET", PATH) == (503, b"service unavailable\n")
    groups = (await api.ok("GET", "/apis"))["groups"]
    assert GROUP in [group["name"] for group in groups]
    assert (await api("GET", "/openapi/v3"))[0] == 200


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"caBundle": "", "insecureSkipTLSVerify": False}, "signed by unknown authority"),
        ({"service": {"namespace": "other", "name": "theirs"}}, "not valid for theirs.other.svc"),
    ],
)
async def test_a_certificate_of_somebody_else_is_refused(
    api: Api, spec: dict[str, Any], text: str
) -> None:
    async with api_server() as server:
        if "service" in spec:
            spec["service"]["port"] = server.port
        namespace = spec.get("service", {}).get("namespace", "ns")
        for path, body in server.objects(namespace, **spec):
            await api.ok("POST", path, body)
        condition = await available(api, reason="FailedDiscoveryCheck")
        assert text in condition["message"] and server.asked == []


async def test_a_bundle_that_is_too_large_is_not_read(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "MOST_BUNDLE", 64)
    async with api_server() as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        condition = await available(api, reason="FailedDiscoveryCheck")
        assert "unable to load root certificates: more than" in condition["message"]
        assert server.asked == []


async def test_a_tenant_s_bundles_displace_its_own_only(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_KEPT", 1)
    async with using(api), using(api, prefix="/clusters/acme"):
        bundles = api.server.aggregator.transport._contexts
        assert len(bundles) == 2
        tenant = api.server.catalog.used(api.tenant.id)
        assert tenant is not None
        (backend,) = (await api.server.aggregator.backends.current(tenant)).values()
        for bundle in (b"", b" "):
            await api.server.aggregator.transport._context(tenant, replace(backend, bundle=bundle))
        assert [len(contexts.kept) for contexts in bundles.values()] == [1, 1]
        bundles.clear()


async def test_insecure_is_taken_at_its_word(api: Api) -> None:
    async with using(api, answering({"ok": 1}), caBundle="", insecureSkipTLSVerify=True):
        assert await api.ok("GET", f"{THINGS}/x") == {"ok": 1}


@pytest.mark.parametrize("host", ["169.254.169.254", "metadata.google.internal"])
async def test_no_service_leads_to_a_cloud_s_metadata(api: Api, host: str) -> None:
    server = ApiServer(documents, 80)
    (services, service), (path, body) = server.objects()
    service["spec"]["externalName"] = host
    await api.ok("POST", services, service)
    await api.ok("POST", path, body)
    condition = await available(api, reason="FailedDiscoveryCheck")
    assert ("does not call API servers at that address" in condition["message"]) == (
        host == "169.254.169.254"
    )


async def test_two_tenants_have_a_server_each_and_know_nothing_of_the_other_s(api: Api) -> None:
    acme = "/clusters/acme"
    neighbour = await api("GET", f"{acme}{THINGS}/x")
    async with using(api, answering({"of": "default"})) as one:
        assert await api("GET", f"{acme}{THINGS}/x") == neighbour and neighbour[0] == 404
        assert (await api("GET", f"{acme}/apis/{GROUP}"))[0] == 404
        names = [g["name"] for g in (await api.ok("GET", f"{acme}/apis"))["groups"]]
        assert GROUP not in names
        async with using(api, answering({"of": "acme"}), prefix=acme) as two:
            assert await api.ok("GET", f"{THINGS}/x") == {"of": "default"}
            assert await api.ok("GET", f"{acme}{THINGS}/x") == {"of": "acme"}
            assert mine(two).target == f"{THINGS}/x", "the prefix is this server's business"
            assert mine(one).target == f"{THINGS}/x"


async def test_a_server_that_knows_its_tenant_lets_no_other_in(api: Api) -> None:
    """Somebody's APIService may point to a neighbour's server: it sees another authority."""
    async with api_server(authority=FRONT.authority(api.tenant.id)) as server:
        for prefix in ("", "/clusters/acme"):
            for path, body in server.objects():
                await api.ok("POST", prefix + path, body)
        await available(api)
        refused = await available(api, "/clusters/acme", "FailedDiscoveryCheck")
        assert refused["status"] == "False"
        assert {asked.client for asked in server.asked} == {CLIENT}


async def test_what_this_server_serves_is_nobody_else_s(api: Api) -> None:
    async with using(api) as server:
        spec = {**server.api_service()["spec"], "group": "apps"}
        body = {"metadata": {"name": "v1.apps"}, "spec": spec}
        await api.ok("POST", "/apis/apiregistration.k8s.io/v1/apiservices", body)
        assert (await api.ok("GET", "/apis/apps/v1/deployments"))["kind"] == "DeploymentList"
        assert (await api("GET", "/apis/apps/v1/nonsense"))[0] == 404
        assert not [a for a in server.asked if "nonsense" in a.target]


async def until(ask: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(20):
        while not holds(answer := await ask()):  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.02)
    return answer


async def test_discovery_and_openapi_name_what_it_serves(api: Api) -> None:
    async with using(api) as server:
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

        def group(document: Any) -> Any:
            return next(i for i in document["items"] if i["metadata"].get("name") == GROUP)

        document = await until(
            lambda: api.ok("GET", "/apis", accept=accept),
            lambda document: group(document)["versions"][0]["freshness"] == "Current",
        )
        (version,) = group(document)["versions"]
        (resource,) = version["resources"]
        assert (version["version"], resource["resource"]) == ("v1", "things")
        assert resource["responseKind"] == {"group": GROUP, "version": "v1", "kind": "Thing"}
        assert resource["scope"] == "Namespaced" and resource["shortNames"] == ["th"]
        assert [s["subresource"] for s in resource["subresources"]] == ["status"]
        alone = await api.ok("GET", f"/apis/{GROUP}")
        assert alone["preferredVersion"] == {"groupVersion": f"{GROUP}/v1", "version": "v1"}
        assert (await api.ok("GET", PATH))["groupVersion"] == f"{GROUP}/v1"
        assert PATH in (await api.ok("GET", "/"))["paths"]
        index = await api.ok("GET", "/openapi/v3")
        url = index["paths"][PATH[1:]]["serverRelativeURL"]
        assert url == f"/openapi/v3{PATH}?hash=ABC"
        assert (await api.ok("GET", url))["info"]["title"] == "theirs"
        await api.ok("DELETE", SERVICE)
        assert (await api("GET", f"/apis/{GROUP}"))[0] == 404
        server.asked.clear()
        assert (await api("GET", f"{THINGS}/x"))[0] == 404 and server.asked == []


async def test_an_odd_document_stays_outside(api: Api) -> None:
    odd: Any = {
        "kind": "APIGroupDiscoveryList",
        "items": [
            1,
            {
                "metadata": {"name": GROUP},
                "versions": [{"version": "v1", "resources": [{"resource": "x", "verbs": [1]}, 7]}],
            },
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": []}]},
        ],
    }

    async def handler(asked: Asked, answer: Answering) -> None:
        await (answer.whole(odd) if asked.target == "/apis" else documents(asked, answer))

    async with api_server(handler) as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        document = await until(
            lambda: api.ok("GET", "/apis", accept=accept),
            lambda d: d["items"][-1]["versions"][0]["freshness"] == "Current",
        )
        assert [r["resource"] for r in document["items"][-1]["versions"][0]["resources"]] == ["x"]
        apps = next(i for i in document["items"] if i["metadata"].get("name") == "apps")
        assert apps["versions"][0]["resources"]


async def test_discovery_keeps_no_more_than_a_tenant_may_have(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_ROWS", 3)
    nameless = [{}, {"subresource": "status"}] * 500
    document: Any = {"kind": "APIGroupDiscoveryList"}

    def row(subresources: int) -> Any:
        named = [{"subresource": f"s{n}"} for n in range(subresources)]
        return {"resource": "things", "subresources": [{}] * 900 + named}

    async def handler(asked: Asked, answer: Answering) -> None:
        await (answer.whole(document) if asked.target == "/apis" else documents(asked, answer))

    async with api_server(handler) as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        await available(api)
        aggregator, tenant = api.server.aggregator, api.server.catalog.used(api.tenant.id)
        assert aggregator is not None and tenant is not None
        for subresources, rows in ((2, 3), (3, 0)):
            version = {"version": "v1", "resources": [*nameless, row(subresources)]}
            version["resources"] = version["resources"][-1000:]
            document["items"] = [{"metadata": {"name": GROUP}, "versions": [version]}]
            of = await aggregator.backends.current(tenant)
            await aggregator.documents.refresh(tenant, api.registry.lookup(tenant), of)
            (listed,) = aggregator.documents.of(tenant.id, of)
            assert (listed.served.rows, len(listed.served.resources)) == (rows, bool(rows))
            assert listed.served.current and bool(listed.served.size) == bool(rows)


@pytest.mark.parametrize(
    ("service", "slices", "reason", "message"),
    [
        (None, [], "ServiceNotFound", 'service/theirs in "ns" is not present'),
        ([80], [], "ServicePortError", 'service/theirs in "ns" is not listening on port 443'),
        (
            [443],
            [],
            "EndpointsNotFound",
            'cannot find endpointslices for service/theirs in "ns"',
        ),
        (
            [443],
            [False],
            "MissingEndpoints",
            'endpointslices for service/theirs in "ns" have no addresses with port name "https"',
        ),
    ],
)
async def test_conditions_before_it_is_asked(
    api: Api, service: list[int] | None, slices: list[bool], reason: str, message: str
) -> None:
    if service is not None:
        ports = [{"name": "https", "port": port} for port in service]
        body = {"metadata": {"name": "theirs"}, "spec": {"ports": ports}}
        await api.ok("POST", "/api/v1/namespaces/ns/services", body)
    for ready in slices:
        body = {
            "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "theirs"}},
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": 8443}],
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}],
        }
        await api.ok("POST", "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices", body)
    (_, (path, body)) = ApiServer(documents, 443).objects()
    await api.ok("POST", path, body)
    condition = await available(api, reason=reason)
    assert (condition["status"], condition["message"]) == ("False", message)


async def test_one_too_many_is_not_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "MOST", 1)
    async with using(api) as server:
        spec = {**server.api_service()["spec"], "version": "v2"}
        name = f"v2.{GROUP}"
        body = {"metadata": {"name": name}, "spec": spec}
        await api.ok("POST", SERVICE.removesuffix(f"/{NAME}"), body)
        v2 = SERVICE.replace(NAME, name)
        condition = await until(
            lambda: api.ok("GET", v2), lambda o: (o.get("status") or {}).get("conditions")
        )
        (said,) = condition["status"]["conditions"]
        assert (said["status"], said["reason"]) == ("False", "TooManyAPIServices")
        assert await api("GET", PATH.replace("v1", "v2")) == (503, b"service unavailable\n")
        assert [v["version"] for v in (await api.ok("GET", f"/apis/{GROUP}"))["versions"]] == ["v1"]
        assert not [a for a in server.asked if "v2" in a.target]


async def test_only_its_own_service_and_slices_make_a_server_be_looked_at(api: Api) -> None:
    async with using(api):
        tenant = api.server.catalog.used(api.tenant.id)
        assert tenant is not None
        (backend,) = (await api.server.aggregator.backends.current(tenant)).values()

        async def state() -> object:
            return (await aggregation._Around.of(api.registry, tenant)).state(backend)

        def labelled(service: str) -> Any:
            labels = {"kubernetes.io/service-name": service}
            metadata = {"name": service, "labels": labels}
            return {"metadata": metadata, "addressType": "IPv4", "endpoints": []}

        before = await state()
        slices = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
        await api.ok("POST", slices, labelled("another"))
        body = {"metadata": {"name": "another"}, "spec": {"ports": [{"port": 1}]}}
        await api.ok("POST", "/api/v1/namespaces/ns/services", body)
        assert await state() == before
        await api.ok("POST", slices, labelled("theirs"))
        await until(state, lambda now: now != before)


async def test_a_server_that_comes_back_is_found_again(api: Api) -> None:
    down = asyncio.Event()

    async def handler(asked: Asked, answer: Answering) -> None:
        if down.is_set():
            await documents(asked, answer)
        else:
            await answer.whole({}, 500)

    async with api_server(handler) as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        condition = await available(api, reason="FailedDiscoveryCheck")
        assert condition["message"].endswith(
            f"bad status from https://theirs.ns.svc:{server.port}{PATH}: 500"
        )
        down.set()
        assert (await available(api))["status"] == "True"
