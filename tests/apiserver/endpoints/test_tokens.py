"""Tokens of service accounts over HTTP: asked for, used in their tenant under RBAC, reviewed, and
dead when they should be."""

from __future__ import annotations

import base64
import random
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
import pytest_asyncio

from admission.attributes import Attributes
from admission.chain import Chain
from apiserver.authn.signing import parse
from apiserver.codec import protobuf
from apiserver.endpoints.request import MAX_HEAD
from apiserver.errors import BadRequest
from apiserver.registry.authorizer import RbacAuthorizer
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, User, authenticated
from tests.support.api import Api, serving
from tests.support.fixtures import in_thread
from tests.support.storage import numbers

NS = "/api/v1/namespaces/ns"
ACCOUNT = f"{NS}/serviceaccounts/robot"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/ns"
REVIEWS = "/apis/authentication.k8s.io/v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ROOT = {"authorization": "Bearer root"}


class Directory:
    """Two tenants, and an operator's token that is good in both."""

    def __init__(self, default: int, acme: int) -> None:
        self.numbers = {"default": default, "acme": acme}

    async def tenant(self, name: str) -> Any:
        number = self.numbers.get(name)
        return number and SimpleNamespace(
            id=number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return User("root", groups=authenticated([MASTERS])) if secret == "root" else None

    async def home(self, secret: str) -> str:
        return "default"


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    other = next(numbers)
    await in_thread(lambda: tenants.create(other))
    async with serving(store, tenant) as made:
        made.server.directory = Directory(tenant, other)
        made.server.authorizer = RbacAuthorizer(made.registry)
        await made.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "robot"}}, **ROOT)
        yield made
    await in_thread(lambda: tenants.drop(other))


async def issue(api: Api, path: str = f"{ACCOUNT}/token", **spec: Any) -> Any:
    return await api.ok("POST", path, {"spec": spec}, **ROOT)


async def token(api: Api, **spec: Any) -> str:
    return str((await issue(api, **spec))["status"]["token"])


async def refused(api: Api, **spec: Any) -> tuple[int, str]:
    status, body = await api("POST", f"{ACCOUNT}/token", {"spec": spec}, **ROOT)
    return status, body["message"]


async def status(
    api: Api, secret: str, path: str = "/apis", method: str = "GET", body: Any = None
) -> int:
    return (await api(method, path, body, authorization=f"Bearer {secret}"))[0]


async def review(api: Api, secret: str, *audiences: str) -> Any:
    body = {"spec": {"token": secret, "audiences": list(audiences)}}
    return (await api.ok("POST", f"{REVIEWS}/tokenreviews", body, **ROOT))["status"]


def payload(secret: str) -> Any:
    found = parse(secret)
    assert found is not None
    return found.claims


def ref(kind: str, name: str, **more: str) -> Any:
    return {"kind": kind, "apiVersion": "v1", "name": name, **more}


async def test_the_answer_is_the_request_filled_in(api: Api) -> None:
    account = await api.ok("GET", ACCOUNT, **ROOT)
    made = await issue(api)
    assert made["kind"] == "TokenRequest" and made["apiVersion"] == "authentication.k8s.io/v1"
    metadata = made["metadata"]
    assert {k: metadata[k] for k in ("name", "namespace", "uid")} == {
        k: account["metadata"][k] for k in ("name", "namespace", "uid")
    }
    (owner,) = metadata["managedFields"]
    assert (
        owner["fieldsV1"] == {"f:spec": {"f:expirationSeconds": {}}}
        and owner["subresource"] == "token"
    )
    assert made["spec"] == {
        "audiences": ["https://kubernetes.default.svc"],
        "boundObjectRef": None,
        "expirationSeconds": 3600,
    }
    claims = payload(made["status"]["token"])
    assert (
        claims["exp"] - claims["iat"] == 3600 and claims["sub"] == "system:serviceaccount:ns:robot"
    )
    assert await issue(api, f"{ACCOUNT}/token?dryRun=All")


async def test_it_speaks_protobuf(api: Api) -> None:
    asked = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "spec": {"audiences": ["me"], "expirationSeconds": 700},
    }
    code, body = await api(
        "POST", f"{ACCOUNT}/token", protobuf.encode(asked), PROTOBUF, accept=PROTOBUF, **ROOT
    )
    assert code == 201
    made = protobuf.decode(body)
    assert made["spec"]["audiences"] == ["me"] and made["spec"]["expirationSeconds"] == 700
    assert payload(made["status"]["token"])["aud"] == ["me"]


async def test_it_is_not_a_table(api: Api) -> None:
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    assert (await api("POST", f"{ACCOUNT}/token", {"spec": {}}, accept=table, **ROOT))[0] == 406
    made = await api.ok(
        "POST", f"{ACCOUNT}/token", {"spec": {}}, accept=f"{table},application/json", **ROOT
    )
    assert made["kind"] == "TokenRequest"
    code, body = await api(
        "POST", f"{ACCOUNT}/token", {"spec": {"x": 1}}, accept="application/yaml", **ROOT
    )
    assert code == 201 and b"kind: TokenRequest" in body and "unknown field" in api.warnings[0]


class Policy:
    """An admission plugin that gives every token an audience, and refuses short ones."""

    name = "TokenPolicy"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def handles(self, attributes: Attributes) -> bool:
        return attributes.subresource == "token"

    async def admit(self, attributes: Attributes, _: Any) -> None:
        assert attributes.object is not None
        attributes.object["spec"]["audiences"] = ["of the policy"]

    async def validate(self, attributes: Attributes, _: Any) -> None:
        assert attributes.object is not None
        self.seen.append(
            (
                *attributes.kind,
                *attributes.resource,
                attributes.name,
                attributes.dry_run,
                attributes.object["spec"]["audiences"],
            )
        )
        if attributes.object["spec"]["expirationSeconds"] < 1000:
            raise BadRequest("too short for this policy")


async def test_admission_sees_and_changes_requests(api: Api) -> None:
    policy = Policy()
    api.registry.chain = Chain([policy])
    made = await issue(api, f"{ACCOUNT}/token?dryRun=All")
    assert made["spec"]["audiences"] == payload(made["status"]["token"])["aud"] == ["of the policy"]
    kind = ("authentication.k8s.io", "v1", "TokenRequest")
    assert policy.seen == [(*kind, "", "v1", "serviceaccounts", "robot", True, ["of the policy"])]
    assert await refused(api, expirationSeconds=900) == (400, "too short for this policy")
    assert (await refused(api, expirationSeconds=60))[0] == 422


async def test_refusals_in_kube_apiservers_order(api: Api) -> None:
    assert (await refused(api, expirationSeconds=60))[0] == 422
    assert await refused(api, boundObjectRef=ref("Pod", "absent")) == (
        404,
        'pods "absent" not found',
    )
    assert await refused(api, boundObjectRef=ref("Node", "absent")) == (
        404,
        'nodes "absent" not found',
    )
    assert await refused(api, boundObjectRef=ref("Secret", "a\0b")) == (
        404,
        'secrets "a\0b" not found',
    )
    assert (await refused(api, expirationSeconds=60, boundObjectRef=ref("ConfigMap", "x")))[
        0
    ] == 422
    absent = f"{NS}/serviceaccounts/absent/token"
    code, body = await api("POST", absent, {"spec": {"expirationSeconds": 60}}, **ROOT)
    assert (code, body["message"]) == (404, 'serviceaccounts "absent" not found')
    code, body = await api(
        "POST", f"{ACCOUNT}/token", {"metadata": {"uid": "x"}, "spec": {}}, **ROOT
    )
    assert code == 409 and "the UID in the token request (x) does not match" in body["message"]
    assert (await api("GET", f"{ACCOUNT}/token", **ROOT))[0] == 405


async def test_who_uses_it_is_the_account(api: Api) -> None:
    secret = await token(api)
    _, body = await api("GET", f"{NS}/configmaps", authorization=f"Bearer {secret}")
    assert 'User "system:serviceaccount:ns:robot" cannot list' in body["message"]
    reviewed = await review(api, secret)
    assert reviewed["authenticated"] and reviewed["audiences"] == ["https://kubernetes.default.svc"]
    user = reviewed["user"]
    assert user["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:ns",
        "system:authenticated",
    ]
    assert user["uid"] == (await api.ok("GET", ACCOUNT, **ROOT))["metadata"]["uid"]
    assert user["extra"] == {
        "authentication.kubernetes.io/credential-id": [f"JTI={payload(secret)['jti']}"]
    }


async def test_an_account_may_do_what_its_roles_say(api: Api) -> None:
    await api.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "other"}}, **ROOT)
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    await api.ok("POST", f"{RBAC}/roles", {"metadata": {"name": "lister"}, "rules": rules}, **ROOT)
    subjects = [{"kind": "ServiceAccount", "name": "robot", "namespace": "ns"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"}
    await api.ok(
        "POST",
        f"{RBAC}/rolebindings",
        {"metadata": {"name": "b"}, "subjects": subjects, "roleRef": role},
        **ROOT,
    )
    others = (await issue(api, f"{NS}/serviceaccounts/other/token"))["status"]["token"]
    robots = await token(api)
    assert await status(api, robots, f"{NS}/configmaps") == 200
    assert await status(api, robots, f"{NS}/secrets") == 403
    assert await status(api, robots, "/api/v1/namespaces/else/configmaps") == 403
    assert await status(api, others, f"{NS}/configmaps") == 403
    assert await status(api, robots, f"{ACCOUNT}/token", "POST", {"spec": {}}) == 403


async def test_a_token_is_worth_nothing_in_another_tenant(api: Api) -> None:
    other = f"/clusters/acme{NS}/serviceaccounts"
    await api.ok("POST", other, {"metadata": {"name": "robot"}}, **ROOT)
    theirs = (await issue(api, f"{other}/robot/token"))["status"]["token"]
    ours = await token(api)
    assert (
        payload(theirs)["iss"]
        == "https://kubernetes.default.svc/clusters/acme"
        == payload(theirs)["aud"][0]
    )
    for _ in range(2):  # a token that is remembered is no better
        assert await status(api, ours, f"{NS}/configmaps") == 403
        assert await status(api, theirs, f"/clusters/acme{NS}/configmaps") == 403
        assert await status(api, ours, f"/clusters/acme{NS}/configmaps") == 401
        assert await status(api, theirs, f"/clusters/default{NS}/configmaps") == 401
    assert await status(api, ours, f"/clusters/nowhere{NS}/configmaps") == 401
    assert "authenticated" not in await review(api, theirs)
    stolen = (await issue(api, audiences=["https://kubernetes.default.svc/clusters/acme"]))[
        "status"
    ]["token"]
    assert await status(api, stolen, f"/clusters/acme{NS}/configmaps") == 401


async def test_a_token_without_a_prefix_means_its_own_tenant(api: Api) -> None:
    accounts = f"{NS}/serviceaccounts"
    await api.ok("POST", f"/clusters/acme{accounts}", {"metadata": {"name": "theirs"}}, **ROOT)
    rbac = f"/clusters/acme{RBAC}"
    rule = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["list"]}
    await api.ok("POST", f"{rbac}/roles", {"metadata": {"name": "r"}, "rules": [rule]}, **ROOT)
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "theirs", "namespace": "ns"}],
    }
    await api.ok("POST", f"{rbac}/rolebindings", binding, **ROOT)
    secret = (await issue(api, f"/clusters/acme{accounts}/theirs/token"))["status"]["token"]
    for _ in range(2):  # read, then remembered
        listed = await api.ok("GET", accounts, authorization=f"Bearer {secret}")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["theirs"]
    await api.ok("DELETE", f"/clusters/acme{accounts}/theirs", **ROOT)
    assert await status(api, secret, accounts) == 401


async def test_audiences(api: Api) -> None:
    vault = await token(api, audiences=["vault", "other"])
    assert await status(api, vault, f"{NS}/configmaps") == 401
    assert (await review(api, vault, "vault", "third"))["audiences"] == ["vault"]
    assert await review(api, vault, "third") == {
        "user": {},
        "error": (
            '[invalid bearer token, token audiences ["vault" "other"] is invalid for the '
            'target audiences ["third"]]'
        ),
    }
    own = "https://kubernetes.default.svc"
    assert (await review(api, "root", own))["audiences"] == [own]
    assert await review(api, "root", "vault") == {"user": {}, "error": "invalid bearer token"}
    assert await review(api, "unknown") == {"user": {}, "error": "invalid bearer token"}


@pytest.mark.parametrize("kind", ["Secret", "Pod", "Node"])
async def test_a_bound_token_dies_with_what_it_is_bound_to(api: Api, kind: str) -> None:
    collection = {"Secret": f"{NS}/secrets", "Pod": f"{NS}/pods", "Node": "/api/v1/nodes"}[kind]
    await api.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}}, **ROOT)
    spec = (
        {
            "serviceAccountName": "robot",
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "i"}],
        }
        if kind == "Pod"
        else {}
    )
    made = await api.ok(
        "POST",
        collection,
        {"metadata": {"name": "bond"}, **({"spec": spec} if spec else {})},
        **ROOT,
    )
    uid = made["metadata"]["uid"]
    assert (await refused(api, boundObjectRef=ref(kind, "bond", uid="x")))[0] == 409
    bound = await token(api, boundObjectRef=ref(kind, "bond", uid=uid))
    private = payload(bound)["kubernetes.io"]
    assert private[kind.lower()] == {"name": "bond", "uid": uid}
    assert private.get("node", {}).get("name") == {"Pod": "n1", "Node": "bond"}.get(kind)
    extra = (await review(api, bound))["user"]["extra"]
    named = {"Pod": ["bond"], "Secret": None}.get(kind)
    assert extra.get("authentication.kubernetes.io/pod-name") == named
    assert extra.get("authentication.kubernetes.io/node-name") == {
        "Pod": ["n1"],
        "Node": ["bond"],
    }.get(kind)
    assert await status(api, bound, f"{NS}/configmaps") == 403
    await api.ok("DELETE", "/api/v1/nodes/n1", **ROOT)
    assert await status(api, bound, f"{NS}/configmaps") == 403
    await api.ok("DELETE", f"{collection}/bond?gracePeriodSeconds=0", **ROOT)
    assert await status(api, bound, f"{NS}/configmaps") == 401
    await api.ok(
        "POST",
        collection,
        {"metadata": {"name": "bond"}, **({"spec": spec} if spec else {})},
        **ROOT,
    )
    assert await status(api, bound, f"{NS}/configmaps") == 401
    assert "does not match" in (await review(api, bound))["error"]


async def test_a_pod_of_another_account_is_no_bond(api: Api) -> None:
    spec = {"serviceAccountName": "default", "containers": [{"name": "c", "image": "i"}]}
    await api.ok("POST", f"{NS}/pods", {"metadata": {"name": "p"}, "spec": spec}, **ROOT)
    text = (
        'cannot bind token for serviceaccount "robot" to pod running with different '
        "serviceaccount name."
    )
    assert await refused(api, boundObjectRef=ref("Pod", "p")) == (400, text)


async def test_a_token_dies_with_its_account(api: Api) -> None:
    secret = await token(api)
    assert await status(api, secret, f"{NS}/configmaps") == 403
    await api.ok("DELETE", ACCOUNT, **ROOT)
    assert await status(api, secret, f"{NS}/configmaps") == 401
    assert await review(api, secret) == {
        "user": {},
        "error": '[invalid bearer token, serviceaccounts "robot" not found]',
    }
    await api.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "robot"}}, **ROOT)
    assert await status(api, secret, f"{NS}/configmaps") == 401


async def test_what_another_process_wrote_a_moment_ago_counts(api: Api, postgres: str) -> None:
    """The token comes from a worker whose writes this one's caches have not heard of."""
    assert await status(api, await token(api), f"{NS}/configmaps") == 403  # the caches are there
    opened = PostgresStore(postgres, size=2)
    await opened.open()
    async with serving(opened, api.tenant.id) as other:
        other.server.tokens, other.server.directory = api.server.tokens, api.server.directory
        await other.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "new"}}, **ROOT)
        secret = (await issue(other, f"{NS}/serviceaccounts/new/token"))["status"]["token"]
        assert await status(api, secret, f"{NS}/configmaps") == 403
    await opened.close()


async def test_a_good_token_needs_no_query(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = await token(api)
    assert await status(api, secret) == 403

    async def asked(*_: Any, **__: Any) -> Any:
        raise AssertionError("the database was asked")

    for name in ("get", "list", "head"):
        monkeypatch.setattr(api.registry.store, name, asked)
    assert await status(api, secret) == 403


async def test_discovery_of_the_issuer(api: Api) -> None:
    for prefix, issuer in (
        ("", "https://kubernetes.default.svc"),
        ("/clusters/acme", "https://kubernetes.default.svc/clusters/acme"),
    ):
        found = await api.ok(
            "GET", f"{prefix}/.well-known/openid-configuration", host="api.example.com:6443", **ROOT
        )
        assert found == {
            "issuer": issuer,
            "jwks_uri": f"https://api.example.com:6443{prefix}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }
    (key,) = (await api.ok("GET", "/openid/v1/jwks", **ROOT))["keys"]
    (theirs,) = (await api.ok("GET", "/clusters/acme/openid/v1/jwks/", **ROOT))["keys"]
    head = orjson.loads(base64.urlsafe_b64decode((await token(api)).partition(".")[0] + "=="))
    assert head["kid"] == key["kid"] != theirs["kid"]
    odd = await api.ok("GET", "/.well-known/openid-configuration", host='x"/evil', **ROOT)
    assert odd["jwks_uri"] == "https://127.0.0.1:6443/openid/v1/jwks"
    assert (await api("GET", "/openid/v1/jwks"))[0] == 403
    assert (await api("POST", "/openid/v1/jwks", **ROOT))[0] == 405
    assert (await api("GET", "/openid/v1/jwks", accept="text/html", **ROOT))[0] == 406
    assert (await api("GET", "/openid/v1/other", **ROOT))[0] == 404
    assert {"/openid/v1/jwks", "/.well-known/openid-configuration"} <= set(
        (await api.ok("GET", "/", **ROOT))["paths"]
    )


def mutated(secret: str, chance: random.Random) -> str:
    """The token with some of its characters changed, or parts lost, doubled or replaced."""
    text = list(secret)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        text[at : at + chance.choice((0, 1, 1, 40))] = chance.choice(
            ("", ".", "A", "\0", "\xff", "=", "€", '"', "eyJhbGciOiJub25lIn0.")
        )
    return "".join(text)


async def test_no_token_makes_an_error(api: Api) -> None:
    secret, chance = await token(api), random.Random(1)
    made = [mutated(secret, chance) for _ in range(100)]
    made += [
        "x" * 60_000,
        "." * 60_000,
        "x" * 100_000,
        f"{secret}." * 100,
        secret + "\0",
        "é.é.é",
        f"{secret[:-9]}é" * 2,
    ]
    for text in made:
        code = await status(api, text, f"{NS}/configmaps")
        if len(text) > MAX_HEAD:
            assert code == 431
            continue
        assert code in (401, 403) and (code == 401 or parse(text) == parse(secret)), text
        assert "authenticated" not in await review(api, text) or parse(text) == parse(secret), text


async def test_a_watch_lives_as_long_as_its_account(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = 0
    holds = api.server.watchdog._holds

    async def counted(right: Any) -> bool:
        nonlocal rounds
        rounds += 1
        return await holds(right)

    monkeypatch.setattr(api.server.watchdog, "_every", 0.01)
    monkeypatch.setattr(api.server.watchdog, "_holds", counted)
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]}]
    await api.ok("POST", f"{RBAC}/roles", {"metadata": {"name": "watcher"}, "rules": rules}, **ROOT)
    subjects = [{"kind": "ServiceAccount", "name": "robot", "namespace": "ns"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "watcher"}
    await api.ok(
        "POST",
        f"{RBAC}/rolebindings",
        {"metadata": {"name": "watcher"}, "subjects": subjects, "roleRef": role},
        **ROOT,
    )
    watch = api.watch(
        f"{NS}/configmaps?watch=true&resourceVersion=0", authorization=f"Bearer {await token(api)}"
    )
    await api.until(lambda: rounds > 3)
    await api.ok("POST", f"{NS}/configmaps", {"metadata": {"name": "seen"}}, **ROOT)
    event = await watch.next()
    assert event is not None and event["object"]["metadata"]["name"] == "seen"
    await api.ok("DELETE", ACCOUNT, **ROOT)
    assert await watch.next() is None
