"""A kubeconfig as plugins take one: it names a server and what this one shows there. What belongs
to kubectl is let be (k8s.io/apiserver ``pkg/util/webhook`` LoadKubeconfig)."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from admission.config import ConfigError, Section
from admission.webhooks.errors import CallFailed
from admission.webhooks.tls import client_context, identify

PORTS = {"https": 443, "http": 80}
"""Of URLs that name none, by their schemes."""
Headers = tuple[tuple[str, str], ...]
ReadFile = Callable[[str], bytes]
"""A file by its path, which may be relative to the document. Raises ConfigError."""


@dataclass(frozen=True, slots=True)
class Backend:
    """scheme: "https", or "http" where that is accepted; host, port: who is connected to; name:
    whom the certificate must be for; path: with the query; headers: that say who asks, read from
    the token's file at each call (raises ConfigError)."""

    scheme: str
    host: str
    port: int
    name: str
    path: str
    context: ssl.SSLContext
    headers: Callable[[], Headers]

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def read(document: Section, file: ReadFile, schemes: Collection[str] = ("https",)) -> Backend:
    """schemes: those of `PORTS` that the server's URL may have. Raises ConfigError."""
    context = _named(document, "contexts", "context", document.text("current-context"))
    cluster = _named(document, "clusters", "cluster", context.text("cluster"))
    user = _named(document, "users", "user", context.text("user"))
    server = cluster.text("server")
    try:
        parts = urlsplit(server)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise cluster.wrong("server", str(error)) from None
    if parts.scheme not in schemes or not host:
        raise cluster.wrong("server", f"must be an {' or '.join(schemes)} URL")
    if cluster.has("proxy-url"):
        raise cluster.wrong("proxy-url", "is not supported")
    name = cluster.text("tls-server-name") or host
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    tls, headers = _context(cluster, user, file), _headers(user, file)
    headers()  # what is wrong with them is said now
    return Backend(parts.scheme, host, port, name, path, tls, headers)


def _named(document: Section, listed: str, member: str, name: str) -> Section:
    """The one of that name; without a name the only one."""
    entries: Sequence[Section] = document.sections(listed)
    matching = [entry for entry in entries if entry.text("name") == name]
    if not name and len(entries) == 1:
        matching = list(entries)
    if not matching:
        if member == "user" and not name:
            return Section({}, "users")
        raise ConfigError(f'{listed} has no entry "{name}"')
    return matching[0].section(member)


def _context(cluster: Section, user: Section, file: ReadFile) -> ssl.SSLContext:
    bundle = _pem(cluster, "certificate-authority", file)
    if cluster.flag("insecure-skip-tls-verify"):
        if bundle:
            raise cluster.wrong("certificate-authority", "cannot be verified without verifying")
        context = client_context(None)
    else:
        try:
            context = client_context(bundle)
        except CallFailed as error:
            raise cluster.wrong("certificate-authority", str(error)) from None
    certificate, key = (_pem(user, f"client-{what}", file) for what in ("certificate", "key"))
    if bool(certificate) != bool(key):
        raise user.wrong("client-certificate", "and client-key belong together")
    if certificate:
        try:
            identify(context, key + b"\n" + certificate)
        except ssl.SSLError as error:
            raise user.wrong("client-certificate", str(error.reason or error)) from None
    return context


def _pem(section: Section, name: str, file: ReadFile) -> bytes:
    """The field ``name``-data, or the file that ``name`` names; b"" for none."""
    if data := section.text(f"{name}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except ValueError:
            raise section.wrong(f"{name}-data", "must be base64") from None
    path = section.text(name)
    return file(path) if path else b""


def _headers(user: Section, file: ReadFile) -> Callable[[], Headers]:
    token, path = user.text("token"), user.text("tokenFile")
    name, password = user.text("username"), user.text("password")
    if name or password:
        basic = base64.b64encode(f"{name}:{password}".encode()).decode()
        return lambda: (("Authorization", f"Basic {basic}"),)

    def bearer() -> Headers:
        current = file(path).decode("utf-8", "replace").strip() if path else token
        if not current.isascii() or not current.isprintable():
            raise user.wrong("token", "is none that a header could have")
        return (("Authorization", f"Bearer {current}"),) if current else ()

    return bearer
