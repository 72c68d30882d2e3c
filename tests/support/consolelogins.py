"""Logins to the console by OpenID Connect: a browser, and a provider that does what a test wants,
over TLS and in a thread."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import jwt
from django.test import Client

from controlplane.console.oidcsettings import OidcSettings
from controlplane.console.relyingparty import RelyingParty
from tests.support.oidctokens import jwk, rsa_key
from tests.support.webhooks import bundle, serving_context

CLIENT, SECRET = "console", "s p+a/ce:%"
HOST = "console.example.com"
CALLBACK = "/admin/oidc/callback/"
LOGIN = "/admin/oidc/login/"
ROLES = {"viewers": frozenset({"polyplane:viewers"}), "root": frozenset({"superuser"})}
CA = base64.b64decode(bundle()).decode()

Answer = tuple[int, bytes]


@dataclass
class Provider:
    """asked: paths; grants: what each code is good for; claims: what ID tokens say beside the
    usual; answers: instead of its own, by path; methods: how clients may say who they are."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    grants: dict[str, dict[str, str]] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    discovery: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Callable[[], Answer]] = field(default_factory=dict)
    key: Any = None
    released: threading.Event = field(default_factory=threading.Event)

    def approve(self, query: Mapping[str, str], **claims: Any) -> dict[str, str]:
        """Somebody has logged in; what their browser brings back."""
        self.claims = {"sub": "s-1", "preferred_username": "ann", "groups": ["viewers"], **claims}
        code = secrets.token_urlsafe(8)
        self.grants[code] = dict(query)
        return {"code": code, "state": query["state"]}

    def answer(self, path: str, body: bytes, authorization: str) -> Answer:
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]()
        if path == "/token":
            return self._token(dict(parse_qsl(body.decode())), authorization)
        documents: dict[str, Any] = {
            "/keys": {"keys": [jwk(rsa_key("console"))]},
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize?theme=dark",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                **self.discovery,
            },
        }
        found = documents.get(path)
        return (404, b"") if found is None else (200, json.dumps(found).encode())

    def _token(self, form: dict[str, str], authorization: str) -> Answer:
        grant = self.grants.pop(form.get("code", ""), None)
        if grant is None:
            return _error("invalid_grant")
        proof = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
        asked = (grant["code_challenge_method"], grant["code_challenge"], grant["redirect_uri"])
        if asked != ("S256", challenge, form["redirect_uri"]):
            return _error("invalid_grant")
        client = form.get("client_id", ""), form.get("client_secret", "")
        if authorization:
            name, _, secret = base64.b64decode(authorization.split()[1]).decode().partition(":")
            client = unquote_plus(name), unquote_plus(secret)
        if client != (CLIENT, SECRET):
            return 401, json.dumps({"error": "invalid_client"}).encode()
        now = int(time.time())
        usual = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 600}
        claims = {**usual, "nonce": grant["nonce"], **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        token = jwt.encode(claims, self.key or rsa_key("console"), "RS256", {"kid": "k"})
        return 200, json.dumps({"token_type": "Bearer", "id_token": token}).encode()


def _error(code: str) -> Answer:
    return 400, json.dumps({"error": code}).encode()


@contextmanager
def provider() -> Iterator[Provider]:
    made = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            authorization = self.headers.get("Authorization", "")
            status, sent = made.answer(urlsplit(self.path).path, body, authorization)
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            with suppress(OSError):  # it had enough
                self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = serving_context("127.0.0.1").wrap_socket(server.socket, server_side=True)
    made.url = f"https://127.0.0.1:{server.server_address[1]}"
    RelyingParty._known = {}
    serving = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    serving.start()
    try:
        yield made
    finally:
        made.released.set()
        server.shutdown()
        server.server_close()
        serving.join()
        RelyingParty._known = {}


def settings_for(issuer: str, **more: Any) -> OidcSettings:
    return OidcSettings(
        **{
            "issuer": issuer,
            "client_id": CLIENT,
            "client_secret": SECRET,
            "roles": ROLES,
            "ca": CA,
            **more,
        }
    )


class Browser:
    """One person's, with its cookies. status, page, location: of the last answer."""

    def __init__(self, address: str = "192.0.2.77") -> None:
        self.client = Client(headers={"host": HOST})
        self._address = address
        self.status, self.page, self.location = 0, "", ""

    def get(self, path: str, query: Mapping[str, Any] | None = None, **headers: str) -> int:
        answer = self.client.get(
            path, query or {}, secure=True, REMOTE_ADDR=self._address, headers=headers
        )
        self.status, self.page = answer.status_code, answer.content.decode()
        self.location = answer.headers.get("Location", "")
        return self.status

    def begin(self, page: str = "") -> dict[str, str]:
        """What the provider is asked."""
        assert self.get(LOGIN, {"next": page} if page else {}) == 302, self.page
        return dict(parse_qsl(urlsplit(self.location).query))

    def back(self, **query: Any) -> int:
        return self.get(CALLBACK, query)

    @property
    def inside(self) -> str:
        """As whom it is logged in, "" for nobody."""
        from django.contrib.auth.models import User

        held = self.client.session.get("_auth_user_id")
        return User.objects.get(pk=held).username if held else ""
