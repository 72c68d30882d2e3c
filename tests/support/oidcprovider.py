"""A real OpenID provider over TLS: oidc-provider-mock from PyPI in a process of its own, which
signs in whoever asks by the authorization code flow. Run as a program it is that process."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.installation import eventually, free_port
from tests.support.webhooks import bundle, certificate

CLIENT, REDIRECT = "polyplane", "https://console.example.com/callback"


class OidcProvider:
    """users: claims by subject. Each start has a new signing key."""

    def __init__(self, path: Path, users: dict[str, dict[str, Any]], name: str = "one") -> None:
        self.port, self.users, self._path = free_port(), users, path / f"provider-{name}"
        self._path.mkdir()
        chain, key = certificate("localhost")
        (self._path / "tls.pem").write_bytes(chain + key)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    @property
    def ca(self) -> str:
        return base64.b64decode(bundle()).decode()

    def start(self) -> None:
        command = [sys.executable, "-W", "ignore", __file__, str(self.port)]
        with (self._path / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._path / "tls.pem"), json.dumps(self.users)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=log,
                stderr=log,
            )
        eventually(lambda: self._get("/jwks")[0] == 200)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def approve(self, address: str, subject: str) -> str:
        """Where the browser of somebody who has logged in at the address is sent back to."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        at = address.removeprefix(self.url)
        _, headers, _ = self._ask("POST", at, urlencode({"sub": subject}), form)
        return headers["location"]

    def end_session(self, address: str) -> str:
        """Where the browser of somebody who confirms the logout at the address is sent back to."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        status, _, page = self._ask("GET", address.removeprefix(self.url), None, {})
        held = re.search(r'name="redirect_uri" value="([^"]*)"', page.decode())
        action = re.search(r'<form method="post" action="([^"]*)"', page.decode())
        assert status == 200 and held and action, page
        body = urlencode({"redirect_uri": unescape(held[1])})
        _, headers, _ = self._ask("POST", action[1], body, form)
        return headers["location"]

    def token(self, subject: str, client: str = CLIENT) -> str:
        """An ID token, as a person's client gets it."""
        query = {
            "client_id": client,
            "redirect_uri": REDIRECT,
            "response_type": "code",
            "scope": "openid profile email",
        }
        location = self.approve(f"{self.url}/oauth2/authorize?{urlencode(query)}", subject)
        code = parse_qs(urlsplit(location).query)["code"][0]
        basic = base64.b64encode(f"{client}:any".encode()).decode()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        asked = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
        status, _, body = self._ask(
            "POST", "/oauth2/token", urlencode(asked), {**form, "Authorization": f"Basic {basic}"}
        )
        assert status == 200, body
        return str(json.loads(body)["id_token"])

    def _get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        return self._ask("GET", path, None, {})

    def _ask(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        context = ssl.create_default_context(cadata=self.ca)
        connection = http.client.HTTPSConnection("localhost", self.port, context=context)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            held = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, held, answer.read()
        finally:
            connection.close()


def serve(port: int, pem: str, users: dict[str, dict[str, Any]]) -> None:
    import oidc_provider_mock
    from werkzeug.serving import make_server

    known = [oidc_provider_mock.User(sub=sub, claims=claims) for sub, claims in users.items()]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    app = oidc_provider_mock.app(user_claims=known)
    make_server("localhost", port, app, threaded=True, ssl_context=context).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
