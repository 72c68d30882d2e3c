"""What of a request's headers goes on to the server behind this one, and what of its answer comes
back.

Source: Go's ``net/http/httputil`` (hop-by-hop headers), client-go ``transport`` (who asks),
k8s.io/apimachinery ``pkg/util/proxy``. Two things differ. Cookies stop here, in both directions:
they are the console's, on the same host. And an answer may not act as a page of this host: a tenant
decides what it says, and a browser would run it beside the console.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from apiserver.user import User

Pairs = list[tuple[bytes, bytes]]

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_ON = frozenset(
    {b"authorization", b"cookie", b"host", b"expect", b"audit-id", b"x-forwarded-for"}
    | {b"x-forwarded-uri", b"x-remote-user", b"x-remote-uid", b"x-remote-group"}
    | {b"sec-websocket-protocol"}  # may hold a bearer token
)
_LENGTH = b"content-length"
"""Says where a message ends, so that it has one spelling and Connection cannot take it away."""
_NOT_ON_PREFIXES = (b"x-remote-extra-", b"impersonate-")
_NOT_BACK = frozenset(
    {b"set-cookie", b"audit-id", b"strict-transport-security", b"alt-svc", b"clear-site-data"}
    | {b"content-security-policy", b"x-content-type-options", b"refresh"}
    | {b"service-worker-allowed", b"access-control-allow-credentials"}
    | {b"access-control-allow-headers", b"access-control-allow-methods"}
    | {b"access-control-allow-origin"}
)
_IN_NAMES = "!#$&'*+-.^_`|~"
"""What a header's name may have beside letters and digits (RFC 9110, 5.6.2), but the percent sign,
which begins an escape here."""
SANDBOX: Pairs = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
]


def who(user: User) -> Pairs:
    """Who asks, as servers behind an authenticating proxy are told."""
    said = [(b"X-Remote-User", user.name)]
    if user.uid:
        said.append((b"X-Remote-Uid", user.uid))
    said += [(b"X-Remote-Group", group) for group in user.groups]
    for key, values in user.extra.items():
        name = b"X-Remote-Extra-" + quote(key, safe=_IN_NAMES).encode()
        said += [(name, value) for value in values]
    return [(name, value.encode()) for name, value in said]


def onward(
    headers: Iterable[tuple[bytes, bytes]],
    host: str,
    user: User,
    client: str,
    path: str,
    audit: str,
    upgrade: bytes = b"",
) -> Pairs:
    """What the other server gets. ``headers``: as they came, names in lower case; ``client``: its
    address, "" where it is not known; ``path``: as sent, without the tenant; ``audit``: the id of
    the request; ``upgrade``: the protocol to be asked for."""
    came = list(headers)
    dropped = _NOT_ON | _HOP_BY_HOP | _listed(came)
    passed = [
        (name, value) for name, value in came if name not in dropped and not _poses(name, dropped)
    ]
    before = b", ".join(value for name, value in came if name == b"x-forwarded-for")
    forwarded = b", ".join(part for part in (before, client.encode()) if part)
    chunked = any(name == b"transfer-encoding" for name, _ in came)
    return [
        (b"Host", host.encode()),
        *passed,
        *([(b"Transfer-Encoding", b"chunked")] if chunked else []),
        *(_upgrading(came, upgrade) if upgrade else []),
        *([(b"X-Forwarded-For", forwarded)] if forwarded else []),
        (b"X-Forwarded-Uri", path.encode()),
        (b"Audit-Id", audit.encode("latin-1")),
        *who(user),
    ]


def _poses(name: bytes, dropped: frozenset[bytes]) -> bool:
    """Whether the other server could take this header for one that must not reach it: servers that
    pass headers on as CGI does (WSGI, for one) no longer tell ``x_remote_user`` from
    ``x-remote-user``."""
    plain = name.replace(b"_", b"-")
    return plain.startswith(_NOT_ON_PREFIXES) or (plain != name and plain in dropped | {_LENGTH})


def _upgrading(came: Pairs, protocol: bytes) -> Pairs:
    """With the subprotocols that the client offers, but no bearer token among them
    (k8s.io/apiserver ``authentication/request/websocket``)."""
    offered = [
        part.strip()
        for name, value in came
        if name == b"sec-websocket-protocol"
        for part in value.split(b",")
    ]
    kept = b", ".join(p for p in offered if p and not p.lower().startswith(b"base64url.bearer."))
    return [
        (b"Connection", b"Upgrade"),
        (b"Upgrade", protocol),
        *([(b"Sec-WebSocket-Protocol", kept)] if kept else []),
    ]


def switched(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """What the client gets of the headers of a 101, by which the other server has agreed to an
    upgrade; names in lower case."""
    came = list(headers)
    upgrade = [(name, value) for name, value in came if name == b"upgrade"]
    framing = (b"content-length", b"transfer-encoding")
    return [
        (b"connection", b"Upgrade"),
        *upgrade,
        *((name, value) for name, value in back(came) if name not in framing),
    ]


def back(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """What the client gets of an answer's headers, and `SANDBOX`; names in lower case."""
    came = list(headers)
    dropped = _NOT_BACK | _HOP_BY_HOP | _listed(came)
    return [*((name, value) for name, value in came if name not in dropped), *SANDBOX]


def _listed(headers: Pairs) -> frozenset[bytes]:
    """What Connection says is about this connection only."""
    return frozenset(
        name.strip().lower()
        for key, value in headers
        if key == b"connection"
        for name in value.split(b",")
    ) - {_LENGTH}
