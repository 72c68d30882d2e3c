"""ApiRequest: Django's HttpRequest, made thin - headers and query are read when somebody asks for
them, the body is awaited."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from io import BytesIO
from itertools import chain
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import parse_qs, quote

from django.http import HttpRequest

from apiserver.audit.trail import MOST_BYTES, Trail, one_line
from apiserver.authn.clientcertificates import Presented
from apiserver.authz.attributes import Decision
from apiserver.endpoints.metric_types import Labels
from apiserver.errors import ApiError, RequestEntityTooLarge
from apiserver.flow.lines import UNSORTED, Place
from apiserver.flow.queueset import Ticket
from apiserver.flow.shares import Taken
from apiserver.kinds.served import ServedVersion
from apiserver.registry.offload import Asker, ClientGone
from apiserver.registry.options import parse_bool
from apiserver.registry.scope import NO_TENANT, Tenant
from apiserver.request import RequestInfo, parse_request, selected_name, split_tenant
from apiserver.user import User
from apiserver.whose import moves_bytes

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY = 3 * 1024 * 1024
"""Bytes; kube-apiserver's limit of a request body."""
HIGH_WATER = 64 * 1024
"""Bytes of a body that are read before the application asks for more."""
_PIECE = 256 * 1024
"""Bytes of a body that the loop then reads at a time."""
MAX_HEAD = 64 * 1024
"""Bytes of a request line and its headers (Go's servers take 1 MiB)."""
MAX_HEADERS = 200
SERVER_NAME = "polyplane.server_name"
"""Among the extensions of an ASGI scope: the host that the client named when it began TLS (RFC
6066)."""
PORT_OF = "polyplane.port_of"
"""Among the extensions of an ASGI scope: the tenant whose own port the connection came to."""
CLIENT_CERTIFICATE = "polyplane.client_certificate"
"""Likewise: what the client presented when it began TLS, `Presented`."""
_LOGGED_AUDIT_ID = 64
_PROTOCOLS = b"sec-websocket-protocol"


class HeadersTooLarge(Exception):
    """A request has more than MAX_HEADERS headers, or MAX_HEAD bytes of them."""


class ApiRequest(HttpRequest):
    """What the filters and views find out about a request is kept on it:

    - who: secret: the bearer token that says who sends it, "" where a certificate does, or nothing;
      identified: what somebody before the API has found out about that (the console's gateway),
      None: nobody has; sender: who sends it, None where it is refused before that is known; user:
      whom it acts as, somebody else where the sender impersonates; constraint: the verb that lets
      him, where that is one of constrained impersonation;
    - where: tenant: the one that it has entered; meant: the one that it names, entered or not;
      info: of its path; served: the version that the path leads to, once it is found;
    - what it takes, and gives back at its end: taken: of its tenant's limits; ticket: of the seats
      of its priority level; unwatch: tells fairness that a watch is over; counted_as: how metrics
      count it meanwhile, counted_in: in which gauge of its tenant's. place: where its work beside
      the loop waits;
    - for the audit log: audit_id; trail: None where the policy wants nothing; decision: the
      authorizer's last; notes: annotations that come from who sends it; failed: why it was refused;
      panicked: whether by an error of the server; streamed_code: the status of an answer that a
      view has sent by itself; received: when it came, in seconds since 1970; began: the same by
      time.monotonic(); disclosed: whether the
      answer shows values of Secrets to somebody at the console (`disclosure`);
    - warnings: they become Warning headers.

    authorized: set by `filters.authorization.authorize` alone, for `rest.FilterPermission`. A flag
    and nothing that authorization returns, because it speaks against views that somebody routes
    around the filters, where nothing was returned.

    Raises HeadersTooLarge: our own workers refuse such requests before they get here
    (`controlplane.serving`), other ASGI servers need not."""

    tenant: Tenant = NO_TENANT
    authorized: bool = False
    served: ServedVersion | None = None
    counted_as: tuple[str, ...] = ()
    counted_in: dict[Labels, float] | None = None
    taken: Taken | None = None
    ticket: Ticket | None = None
    place: Place = UNSORTED
    unwatch: Callable[[], None] | None = None
    trail: Trail | None = None
    identified: User | ApiError | None = None
    sender: User | None = None
    meant: Tenant = NO_TENANT
    failed: ApiError | None = None
    panicked: bool = False
    decision: Decision | None = None
    streamed_code: int = 200
    disclosed: bool = False
    secret: str = ""
    constraint: str = ""
    notes: Mapping[str, str] = MappingProxyType({})

    info: RequestInfo
    user: User  # type: ignore[assignment]  # Django's own users live in the console only

    def __init__(self, scope: Message, receive: Receive) -> None:
        # HttpRequest.__init__ builds a dozen dictionaries that no API view looks at
        self.scope = scope
        self.receive = receive
        self.method = scope["method"]
        self.raw_headers = _first_values(scope["headers"])
        self.path = self.path_info = scope["path"]
        self.query: dict[str, list[str]] = {}
        if scope.get("query_string"):
            self.query = parse_query(scope["query_string"].decode("latin-1"))
        self.warnings: list[str] = []
        self.response_headers: list[tuple[bytes, bytes]] = []
        given = self.raw_headers.get(b"audit-id")
        self.audit_id = given.decode("latin-1") if given else _random_uuid()
        self.resolver_match = None
        self.content_type = None
        self.content_params = None
        self.received, self.began = time.time(), time.monotonic()
        self.info = parse_request(
            self.method,
            raw_path(scope),
            watch=bool(self.query) and _asks_to_watch(self.query),
            field_name=selected_name(self.query) if self.query else "",
        )

    def header(self, name: bytes) -> str:
        """A request header by its lower-case name, the first where it is repeated (as Go's
        Header.Get); "" where it is absent."""
        value = self.raw_headers.get(name)
        return "" if value is None else value.decode("latin-1")

    @property
    def sent_path(self) -> str:
        """As `info.path`, but percent-encoded as it was sent."""
        return split_tenant(raw_path(self.scope))[1]

    @property
    def presented(self) -> Presented | None:
        """The client's certificate."""
        extensions = self.scope.get("extensions")
        return extensions.get(CLIENT_CERTIFICATE) if extensions else None

    @property
    def logged_audit_id(self) -> str:
        """The audit id for log lines and messages: clients choose it, at any length
        (k8s.io/apiserver ``GetAuditIDTruncated``)."""
        return self.audit_id[:_LOGGED_AUDIT_ID]

    @property
    def META(self) -> dict[str, Any]:  # type: ignore[override]  # a plain attribute in Django
        """Built at first use, for Django and DRF code that wants it."""
        meta = self.__dict__.get("_meta")
        if meta is None:
            meta = {
                "REQUEST_METHOD": self.method,
                "PATH_INFO": self.path,
                "SERVER_NAME": "polyplane",
                "SERVER_PORT": "443",
            }
            for name, value in self.raw_headers.items():
                if b"_" in name:
                    continue  # would pass for the header that has a hyphen there
                key = name.decode("latin-1").upper().replace("-", "_")
                meta[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = (
                    value.decode("latin-1")
                )
            self.__dict__["_meta"] = meta
        return cast(dict[str, Any], meta)

    @property
    def GET(self) -> dict[str, list[str]]:  # type: ignore[override]  # a QueryDict in Django
        return self.query

    async def read_body(self) -> bytes:
        """The whole body; the same when it is asked for again. Raises RequestEntityTooLarge."""
        if "_stream" in self.__dict__:
            return cast(BytesIO, self._stream).getvalue()
        length = self.header(b"content-length")
        announced = int(length) if length.isdigit() else 0
        if announced > MAX_BODY:
            raise _too_large()
        chunks: list[bytes] = []
        size = 0
        while True:
            if (expected := announced - size if announced else size) > HIGH_WATER:
                await moves_bytes(min(expected, _PIECE))
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > MAX_BODY:
                raise _too_large()
            chunks.append(chunk)
            if not message.get("more_body"):
                body = b"".join(chunks)
                self._stream = BytesIO(body)
                return body

    def sent_json(self) -> bytes | None:
        """The body as an audit event shows it; None where it was not read, or is no JSON."""
        stream: BytesIO | None = self.__dict__.get("_stream")
        data = b"" if stream is None else stream.getvalue()
        if len(data) > MOST_BYTES:
            return data  # too much to be kept, so nobody looks at it
        return one_line(data) if data else None

    def asker(self, size: int = 0) -> Asker:
        """Who asks for a step that is about ``size`` bytes, and has an account of its own."""
        return Asker(self.tenant, size, self.gone, place=self.place)

    async def gone(self) -> None:
        """Returns when the client has closed the connection. The body is read first, if nobody
        has."""
        try:
            await self.read_body()
        except ClientGone:
            return
        except ApiError:
            pass  # too large: whoever wants it will say so
        while (await self.receive())["type"] != "http.disconnect":
            pass


def parse_query(text: str) -> dict[str, list[str]]:
    """By name, the values in their order; those of names without a value are ""."""
    if "%" in text or "+" in text:
        return parse_qs(text, keep_blank_values=True, encoding="utf-8")
    query: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if pair:
            name, _, value = pair.partition("=")
            query.setdefault(name, []).append(value)
    return query


def _first_values(headers: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The first value of each header. Only what WebSocket clients offer may come in several (RFC
    6455, 11.3.4), and is joined. Raises HeadersTooLarge."""
    if len(headers) > MAX_HEADERS:
        raise HeadersTooLarge
    if sum(map(len, chain.from_iterable(headers))) > MAX_HEAD:
        raise HeadersTooLarge
    first = dict(reversed(headers))
    if len(first) < len(headers) and _PROTOCOLS in first:
        first[_PROTOCOLS] = b",".join([value for name, value in headers if name == _PROTOCOLS])
    return first


def _random_uuid() -> str:
    """An audit id: it must differ from others, not be hard to guess, and uuid4 takes five times as
    long."""
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _too_large() -> ApiError:
    return RequestEntityTooLarge(f"Request entity too large: limit is {MAX_BODY}")


def raw_path(scope: Message) -> str:
    """The path as sent, still percent-encoded, without the query."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return quote(scope["path"])
    return raw.split(b"?", 1)[0].decode("latin-1")


def _asks_to_watch(query: dict[str, list[str]]) -> bool:
    values = query.get("watch")
    return values is not None and parse_bool(values[0])
