"""Bootstrap tokens, a token webhook and proxies in front, against two workers of a real server."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from tests.support.clientcertificates import PEM, Authority, key, key_pem, name, unsigned
from tests.support.installation import Installation, eventually
from tests.support.webhooks import bundle, serving_context

pytestmark = pytest.mark.slow
PROXIES, CLIENTS = Authority("front proxies"), Authority("operators")
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
BOOTSTRAP = "abcdef.0123456789abcdef"
TOKENS = {"remote-token": {"username": "remote", "groups": ["far"], "extra": {"a": ["b"]}}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        user = TOKENS.get(review["spec"]["token"])
        review["status"] = {"authenticated": user is not None, "user": user or {}}
        body = json.dumps(review).encode()
        self.send_response(200 if self.headers["authorization"] == "Bearer ours" else 403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def webhook() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = serving_context("localhost").wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://localhost:{server.server_port}/review"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, webhook: str, prepared: Path
) -> Iterator[Installation]:
    path = tmp_path_factory.mktemp("identities")
    made = Installation(path, prepared)
    (path / "proxies.pem").write_text(PROXIES.pem)
    (path / "clients.pem").write_text(CLIENTS.pem)
    kubeconfig = {
        "clusters": [
            {"name": "c", "cluster": {"server": webhook, "certificate-authority-data": bundle()}}
        ],
        "users": [{"name": "u", "user": {"token": "ours"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (path / "webhook").write_text(yaml.safe_dump(kubeconfig))
    made.env |= {
        "POLYPLANE_CLIENT_CA_FILE": str(path / "clients.pem"),
        "POLYPLANE_REQUESTHEADER_CLIENT_CA_FILE": str(path / "proxies.pem"),
        "POLYPLANE_REQUESTHEADER_ALLOWED_NAMES": "proxy",
        "POLYPLANE_BOOTSTRAP_TOKEN_AUTH": "true",
        "POLYPLANE_AUTHENTICATION_TOKEN_WEBHOOK_CONFIG_FILE": str(path / "webhook"),
    }
    made.start()
    yield made
    made.stop()


class Client:
    """Every request on a connection of its own, so that both workers get some."""

    def __init__(
        self, installation: Installation, path: Path, certificate: x509.Certificate | None = None
    ) -> None:
        self.port = installation.port
        self.context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))
        if certificate is not None:
            (path / "pem").write_bytes(certificate.public_bytes(PEM) + key_pem(key()))
            self.context.load_cert_chain(path / "pem")

    def who(self, *headers: tuple[str, str], tenant: str = "") -> Any:
        """userInfo, or the status of a refusal."""
        review = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
        prefix = f"/clusters/{tenant}" if tenant else ""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        with closing(connection):
            connection.putrequest("POST", prefix + WHO)
            for header in (("Content-Type", "application/json"), *headers):
                connection.putheader(*header)
            connection.putheader("Content-Length", str(len(review)))
            connection.endheaders(review)
            answer = connection.getresponse()
            text = answer.read()
        return json.loads(text)["status"]["userInfo"] if answer.status == 201 else answer.status

    def token(self, token: str, tenant: str = "") -> Any:
        return self.who(("Authorization", f"Bearer {token}"), tenant=tenant)


NAMED = (("X-Remote-User", "alice"), ("X-Remote-Group", "dev"), ("X-Remote-Extra-A", "b"))


def test_a_proxy_speaks_for_others(installation: Installation, tmp_path: Path) -> None:
    client = Client(installation, tmp_path, PROXIES.sign(unsigned(name("proxy"))))
    for tenant in ("", "default", "demo") * 2:
        found = client.who(*NAMED, tenant=tenant)
        assert (found["username"], found["extra"]) == ("alice", {"a": ["b"]})
        assert found["groups"] == ["dev", "system:authenticated"]
    twice = client.who(*NAMED, ("X-Remote-User", "root"), ("X-Remote-Group", "ops"))
    assert (twice["username"], twice["groups"][:2]) == ("alice", ["dev", "ops"])
    assert client.who() == 401, "for nobody"
    assert client.who(("X-Remote-User", "")) == 401
    assert client.who(("Authorization", f"Bearer {installation.token}")) != 401


@pytest.mark.parametrize(
    "certificate",
    [
        None,
        PROXIES.sign(unsigned(name("somebody"))),
        CLIENTS.sign(unsigned(name("proxy"))),
        Authority("stranger").sign(unsigned(name("proxy"))),
    ],
    ids=["without", "of another name", "of a client", "of a stranger"],
)
def test_nobody_else_speaks_for_others(
    installation: Installation, tmp_path: Path, certificate: x509.Certificate | None
) -> None:
    client = Client(installation, tmp_path, certificate)
    forged = (*NAMED, ("X-Remote-Group", "system:masters"), ("X-Remote-User", "admin"))
    plain, found = client.who(), client.who(*forged)
    assert found == plain, "the headers make no difference"
    assert not isinstance(found, dict) or found["username"] == "proxy"
    authorized = client.who(*forged, ("Authorization", f"Bearer {installation.token}"))
    assert authorized["username"] == ("proxy" if isinstance(plain, dict) else "admin")
    assert "dev" not in authorized["groups"]


def test_bootstrap_tokens(installation: Installation, tmp_path: Path) -> None:
    client = Client(installation, tmp_path)
    assert client.token(BOOTSTRAP) == 401
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:ingress",
    }
    secret = {
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {k: base64.b64encode(v.encode()).decode() for k, v in data.items()},
    }
    assert installation.request("POST", f"/clusters/demo{SECRETS}", secret)[0] == 201
    found = eventually(lambda: client.token(BOOTSTRAP, "demo") != 401 and client.token(
        BOOTSTRAP, "demo"
    ))  # fmt: skip
    assert found["username"] == "system:bootstrap:abcdef"
    assert found["groups"] == [
        "system:bootstrappers",
        "system:bootstrappers:ingress",
        "system:authenticated",
    ]
    assert client.token(BOOTSTRAP, "default") == 401, "a neighbour has no such secret"
    assert client.token(BOOTSTRAP[:-1] + "0", "demo") == 401
    at = f"/clusters/demo{SECRETS}/bootstrap-token-abcdef"
    assert installation.request("DELETE", at)[0] == 200
    assert eventually(lambda: all(client.token(BOOTSTRAP, "demo") == 401 for _ in range(4)))


def test_the_webhook(installation: Installation, tmp_path: Path) -> None:
    client = Client(installation, tmp_path)
    for tenant in ("", "demo") * 2:
        found = client.token("remote-token", tenant)
        assert (found["username"], found["extra"]) == ("remote", {"a": ["b"]})
        assert client.token("other-token", tenant) == 401
    code, text = installation.request("GET", "/readyz?verbose")
    assert code == 200 and "[+]authentication/webhook ok" in text
