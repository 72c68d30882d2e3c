"""No byte of one tenant reaches another: a canary is put wherever tenant bolt can write something,
and all that the administrator of tenant acme can ask for is asked for. The same walk as bolt's
administrator must find it, so that the walk is known to look.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.installation import Installation, eventually

pytestmark = pytest.mark.slow

CANARY = "kanari7f3q"
_B64 = re.compile(rb"[A-Za-z0-9_\-+/]{16,}={0,2}")
ACCEPTS = [
    "application/json",
    "application/yaml",
    "application/cbor",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
]
DISCOVERY = [
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer",
]
PATHS = [
    "",
    "/",
    "/api",
    "/apis",
    "/version",
    "/metrics",
    "/healthz?verbose",
    "/livez?verbose",
    "/readyz?verbose",
    "/readyz/etcd",
    "/openapi/v2",
    "/openapi/v3",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
    "/debug/pprof/",
    "/logs",
    "/configz",
    "/nonsense",
]
MALFORMED: list[tuple[str, str, bytes, str]] = [
    ("POST", "/api/v1/namespaces/default/configmaps", b"{", "application/json"),
    (
        "POST",
        "/api/v1/namespaces/default/configmaps",
        b'{"metadata":{"name":"%s"},"x":1}' % b"A" * 3,
        "application/json",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/pods",
        b'{"spec":{"containers":[{}]}}',
        "application/json",
    ),
    ("POST", "/apis/example.com/v1/things", b"{}", "application/json"),
    ("PATCH", "/api/v1/namespaces/default/configmaps/none", b"[]", "application/json-patch+json"),
    (
        "PUT",
        "/api/v1/namespaces/default/configmaps/none",
        b"\xff",
        "application/vnd.kubernetes.protobuf",
    ),
    ("GET", "/api/v1/pods?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0", b"", ""),
    ("GET", "/api/v1/pods?resourceVersion=1&resourceVersionMatch=Exact", b"", ""),
    ("GET", "/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=1", b"", ""),
    (
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        b'{"spec":{"namespace":"default"}}',
        "application/json",
    ),
    ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", b"{}", "application/json"),
    ("DELETE", "/api/v1/namespaces/default/configmaps?labelSelector=!", b"", ""),
    ("BREW", "/api", b"", ""),
]


class Two(Installation):
    """tokens: of the administrators of both tenants."""

    tokens: dict[str, str]

    def as_of(
        self, who: str, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes, bytes]:
        """(status, head, body) as the tenant's administrator; ``path`` below the tenant's
        prefix."""
        connection = self.connect()
        try:
            sent = {
                "Authorization": f"Bearer {self.tokens[who]}",
                **{k.replace("_", "-"): v for k, v in headers.items() if v},
            }
            connection.request(method, path, body or None, sent)
            answer = connection.getresponse()
            return answer.status, repr(answer.getheaders()).encode(), answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    made = Two(tmp_path_factory.mktemp("canary"))
    made.env["POLYPLANE_WORKERS"] = "1"
    made.start()
    made.tokens = {}
    for tenant in ("acme", "bolt"):
        named = f"{CANARY}-tenant" if tenant == "bolt" else "Acme"
        assert made.manage("tenant", "create", tenant, "--display-name", named).returncode == 0
        user = f"{CANARY}-user" if tenant == "bolt" else "ann"
        token = made.manage(
            "token", "create", user, "--group", "system:masters", "--tenant", tenant
        )
        assert token.returncode == 0, token.stderr
        made.tokens[tenant] = token.stdout.strip()
    fill(made)
    yield made
    made.stop()


def fill(made: Two) -> None:
    """Whatever can carry the canary does, and has been read, listed, watched, patched and refused,
    so that it is in every cache."""

    def send(method: str, path: str, body: Any, kind: str = "application/json") -> None:
        status, _, answer = made.as_of(
            "bolt", method, f"/clusters/bolt{path}", json.dumps(body).encode(), content_type=kind
        )
        assert status in (200, 201), (path, answer)

    named = {"name": CANARY, "labels": {CANARY: CANARY}, "annotations": {f"{CANARY}/x": CANARY}}
    ns = f"/api/v1/namespaces/{CANARY}"
    send("POST", "/api/v1/namespaces", {"metadata": named})
    send("POST", f"{ns}/configmaps", {"metadata": named, "data": {CANARY: CANARY}})
    send("POST", f"{ns}/secrets", {"metadata": named, "stringData": {"password": CANARY}})
    send("POST", f"{ns}/serviceaccounts", {"metadata": named})
    rules = [{"apiGroups": [CANARY], "resources": [CANARY], "verbs": [CANARY]}]
    send(
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {"metadata": named, "rules": rules},
    )
    send(
        "POST",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": named, "value": 7, "description": CANARY},
    )
    group, plural = f"{CANARY}.example.com", f"{CANARY}s"
    schema = {
        "type": "object",
        "description": CANARY,
        "properties": {CANARY: {"type": "string", "description": CANARY}},
    }
    spec = {
        "group": group,
        "scope": "Cluster",
        "names": {
            "plural": plural,
            "kind": CANARY.capitalize(),
            "shortNames": [CANARY],
            "categories": ["all", CANARY],
        },
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        ],
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    send("POST", definitions, {"metadata": {**named, "name": f"{plural}.{group}"}, "spec": spec})
    own = f"/apis/{group}/v1/{plural}"
    eventually(lambda: made.as_of("bolt", "GET", f"/clusters/bolt{own}")[0] == 200)
    send(
        "POST",
        own,
        {
            "apiVersion": f"{group}/v1",
            "kind": CANARY.capitalize(),
            "metadata": named,
            CANARY: CANARY,
        },
    )
    for path in (own, f"{own}/{CANARY}", f"{ns}/secrets", f"{ns}/secrets/{CANARY}", "/metrics"):
        for accept in ACCEPTS:
            made.as_of("bolt", "GET", f"/clusters/bolt{path}", accept=accept)
    made.as_of("bolt", "GET", f"/clusters/bolt{own}?watch=1&timeoutSeconds=1")
    for wrong in ("[]", "{", '{"metadata":{"name":"' + CANARY.upper() + '"}}'):
        made.as_of(
            "bolt", "POST", f"/clusters/bolt{own}", wrong.encode(), content_type="application/json"
        )


def shows(*texts: bytes) -> bool:
    """Whether the canary is in one of them, as it is or in base64."""
    sought = CANARY.encode()
    for text in texts:
        if sought in text.lower():
            return True
        for word in _B64.findall(text):
            for alphabet in (None, b"-_"):
                try:
                    if sought in base64.b64decode(word + b"=" * (-len(word) % 4), alphabet).lower():
                        return True
                except ValueError:
                    pass
    return False


def walk(made: Two, who: str) -> Iterator[tuple[str, bytes, bytes]]:
    """(what was asked, head, body) of all that the administrator of ``who`` can find, under its own
    tenant and elsewhere."""
    own = f"/clusters/{who}"

    def ask(method: str, path: str, body: bytes = b"", **headers: str) -> tuple[str, bytes, bytes]:
        status, head, answer = made.as_of(who, method, path, body, **headers)
        assert status < 500 or path.endswith("/etcd"), (method, path, answer)
        return f"{method} {path} {headers}", head, answer

    for path in PATHS:
        for prefix in (own, "", "/clusters/default", "/clusters/demo", "/clusters/nobody"):
            yield ask("GET", prefix + path)
            yield ask("GET", prefix + path, accept_encoding="gzip;q=0")
    for accept in DISCOVERY:
        yield from (ask("GET", own + path, accept=accept) for path in ("/api", "/apis"))
    groups = json.loads(ask("GET", f"{own}/apis")[2])["groups"]
    places = ["/api/v1", *(f"/apis/{v['groupVersion']}" for g in groups for v in g["versions"])]
    for place in places:
        listed = ask("GET", own + place)
        yield listed
        yield ask("GET", f"{own}/openapi/v3{place}")
        for resource in json.loads(listed[2])["resources"]:
            if "list" in resource["verbs"]:
                path = f"{own}{place}/{resource['name']}"
                yield from (
                    ask("GET", path, accept=accept) for accept in (*ACCEPTS[:1], *ACCEPTS[4:])
                )
                yield ask("GET", f"{path}?limit=1")
                yield ask("GET", f"{path}/no-such-name")
    for accept in ACCEPTS:
        yield ask("GET", f"{own}/api/v1/namespaces", accept=accept)
        yield ask("GET", f"{own}/api/v1/namespaces/kube-system/configmaps", accept=accept)
    for method, path, body, kind in MALFORMED:
        yield ask(method, own + path, body, content_type=kind)


def test_nothing_of_another_tenant_can_be_seen(installation: Two) -> None:
    asked = 0
    for what, head, body in walk(installation, "acme"):
        asked += 1
        assert not shows(head, body), (what, body[:500])
    print(f"{asked} answers")
    assert asked > 400


@pytest.mark.parametrize(
    "path",
    [
        "/apis/@.example.com/v1",
        "/apis/@.example.com/v1/@s",
        "/api/v1/namespaces/@/secrets/@",
        "/api/v1/namespaces/@",
    ],
)
def test_what_another_tenant_has_is_no_more_there_than_anything_else(
    installation: Two, path: str
) -> None:
    answers = []
    for name in (CANARY, "nirgends8x"):
        status, _, body = installation.as_of(
            "acme", "GET", "/clusters/acme" + path.replace("@", name)
        )
        answers.append((status, body.replace(name.encode(), b"@")))
    assert answers[0] == answers[1] and answers[0][0] == 404


def test_the_walk_would_have_seen_it(installation: Two) -> None:
    seen = [what for what, head, body in walk(installation, "bolt") if shows(head, body)]
    for part in (
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/apis ",
        "customresourcedefinitions",
        "secrets",
        "clusterroles",
        "/api/v1/namespaces",
    ):
        assert any(
            f"/clusters/bolt{part}" in what or (part in what and "/clusters/bolt" in what)
            for what in seen
        ), part


def test_the_operator_sees_all_of_it_and_the_log_no_secret(installation: Two) -> None:
    status, text = installation.request("GET", "/metrics")
    assert status == 200 and CANARY in str(text)
    status, text = installation.request("GET", "/clusters/acme/metrics")
    assert status == 200 and CANARY not in str(text)
    log = installation.output()
    assert not any(token in log for token in installation.tokens.values()) and "Bearer" not in log
