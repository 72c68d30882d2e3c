"""What the audit log is told of a request: `begin` once it is known who asks, `finish` when it has
been answered (k8s.io/apiserver ``filters/{audit,authn_audit}.go``).

A read that the policy wants nothing of costs a look at the policy, and no more.
"""

from __future__ import annotations

import logging
from ipaddress import ip_address
from time import monotonic

from django.http.response import HttpResponse, HttpResponseBase

from apiserver.audit import counts, latencies
from apiserver.audit.policy import NAMES, Level, Verdict
from apiserver.audit.replay import annotate
from apiserver.audit.trail import Trail
from apiserver.authz.attributes import Attributes
from apiserver.endpoints.filters.authorization import attributes_of
from apiserver.endpoints.request import ApiRequest, raw_path
from apiserver.endpoints.respond import BytesResponse
from apiserver.endpoints.server import Server
from apiserver.user import User

log = logging.getLogger("polyplane.audit")

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_HOPS = 16
_NOBODY = User("")
DEPRECATED, REMOVED = "k8s.io/deprecated", "k8s.io/removed-release"


def begin(server: Server, request: ApiRequest, asked: Attributes) -> None:
    """``asked``: by who sends it. What is no read gets a trail in any case: its writes ask whose
    they are."""
    request.sender, audit = asked.user, server.audit
    verdict = audit.verdict(asked)
    counts.LEVELS[NAMES[verdict.level],] += 1
    if verdict.level is not Level.NONE or request.method not in _READING:
        request.trail = _trail(request, verdict)
        audit.begin(request.trail)


def acts_as(request: ApiRequest, user: User) -> None:
    """The request acts as somebody else than who sends it."""
    if request.trail is not None:
        request.trail.acting, request.trail.constraint = user, request.constraint


def found(request: ApiRequest) -> None:
    """It is known which version the request is for (`ApiRequest.served`)."""
    if request.trail is not None:
        _note_deprecation(request.trail, request)


def took(request: ApiRequest, layer: str, begun: float) -> None:
    """``begun``: monotonic time at which the request came to the layer, which it has left."""
    if request.trail is not None:
        latencies.add(request.trail.delays, layer, monotonic() - begun)


def started(server: Server, request: ApiRequest) -> None:
    """A long answer begins."""
    if request.trail is not None:
        server.audit.started(request.trail)


def finish(server: Server, request: ApiRequest, response: HttpResponseBase | None) -> None:
    """``response``: None for one that was streamed, or that nobody waited for. Raises nothing: the
    answer has been sent."""
    try:
        _finish(server, request, response)
    except Exception:
        counts.lost("audit-event")
        log.exception("a request is not in the audit log: audit-id=%s", request.logged_audit_id)


def _finish(server: Server, request: ApiRequest, response: HttpResponseBase | None) -> None:
    audit = server.audit
    code = request.streamed_code if response is None else response.status_code
    trail = request.trail
    if not (request.disclosed or audit.wants(trail, code)):
        return
    if trail is None:
        trail = _trail(request, _verdict(server, request))
        acting = request.__dict__.get("user", request.sender)  # not set before it is settled
        if acting is not request.sender:
            trail.acting, trail.constraint = acting, request.constraint
        if request.decision is not None:
            annotate(trail.annotations, request.decision)
    if request.disclosed:
        trail.must_stay()
    if trail.keeps_response and request.failed is None and response is not None:
        trail.answered = _answered(trail, response)
    tenant = request.tenant.id or request.meant.id or None
    audit.finish(trail, tenant, code, request.failed, panicked=request.panicked)


def _verdict(server: Server, request: ApiRequest) -> Verdict:
    """Of a request that was refused before anybody asked the policy, or that it wants nothing
    of."""
    verdict = server.audit.verdict(attributes_of(request, request.sender or _NOBODY))
    if request.sender is None:
        counts.LEVELS[NAMES[verdict.level],] += 1
    return verdict


def _trail(request: ApiRequest, verdict: Verdict) -> Trail:
    query = request.scope.get("query_string") or b""
    uri = raw_path(request.scope)
    trail = Trail(
        verdict,
        request.tenant.name or request.meant.name,
        request.info,
        request.sender,
        audit_id=request.audit_id,
        uri=f"{uri}?{query.decode('latin-1')}" if query else uri,
        agent=request.header(b"user-agent"),
        addresses=addresses_of(request),
        received=request.received,
    )
    trail.annotations.update(request.notes)
    _note_deprecation(trail, request)
    if trail.keeps_request:
        trail.sent = request.sent_json
    return trail


def _note_deprecation(trail: Trail, request: ApiRequest) -> None:
    if request.served is not None and request.served.deprecated:
        trail.annotate(DEPRECATED, "true")
        if release := request.served.removed_release:
            trail.annotate(REMOVED, release)


def _answered(trail: Trail, response: HttpResponseBase) -> bytes | None:
    """What is no JSON, or no object of the API, is not kept."""
    if isinstance(response, BytesResponse):
        kind = response.content_type
    elif isinstance(response, HttpResponse):
        kind = response.headers.get("Content-Type", "")
    else:
        return None
    told = trail.info.is_resource or trail.uri.startswith("/api")
    if not told or not kind.startswith("application/json"):
        return None
    return trail.answer(response.content)


def addresses_of(request: ApiRequest) -> tuple[str, ...]:
    """Where it comes from, the connection last: what stands before that is what others say
    (k8s.io/apimachinery ``net.SourceIPs``)."""
    addresses: list[str] = []
    forwarded = request.raw_headers.get(b"x-forwarded-for")
    if forwarded is not None:
        said = forwarded.decode("latin-1").split(",")[:_MOST_HOPS]
        addresses = [text.strip() for text in said if _is_address(text.strip())]
    real = request.header(b"x-real-ip").strip()
    if real and real not in addresses and _is_address(real):
        addresses.append(real)
    client = request.scope.get("client")
    if client and client[0] and (not addresses or addresses[-1] != client[0]):
        addresses.append(client[0])
    return tuple(addresses)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
