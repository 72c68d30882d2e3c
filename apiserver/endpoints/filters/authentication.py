"""Who sends the request: whom the client's certificate names, a bearer token's user, or
system:anonymous; then whom the request acts as (impersonation).

A bearer token is a service account's (`apiserver.authn.serviceaccounts`), one that an operator
made (the directory), or somebody else's (`apiserver.authn.external`)."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import partial
from time import perf_counter

from apiserver.authn import counts
from apiserver.authn.accountclaims import Refused
from apiserver.authn.accountkeys import nobodys_number
from apiserver.authn.external import together
from apiserver.authn.impersonation import read_headers
from apiserver.authn.serviceaccounts import Authenticated
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.impersonation import MODES, act_as
from apiserver.endpoints.filters.authorization import attributes_of, decide, observe
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server, TenantInfo
from apiserver.errors import ApiError, Unauthorized
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import TenantGone
from apiserver.user import ANONYMOUS, UNAUTHENTICATED, User

NOBODY = User(ANONYMOUS, groups=(UNAUTHENTICATED,))
"""Who sends a request without a token."""
_PROTOCOL = "base64url.bearer.authorization.k8s.io."
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
_SPACE = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)


async def authenticate(server: Server, request: ApiRequest, tenant: Tenant, secret: str) -> User:
    """Who sends the request to ``tenant``, which may not be there. ``secret``: its bearer token, ""
    without one. A certificate is looked at first.

    Raises Unauthorized for a token that is not known, and for a certificate that is not good where
    no good token is beside it; nobody is silently made anonymous."""
    began = perf_counter()
    try:
        user = await _sender(server, request, tenant, secret)
    except Unauthorized:
        shown = secret or request.presented is not None
        _count("error" if shown else "failure", perf_counter() - began)
        raise
    _count("success", perf_counter() - began, user.name)
    return user


def _count(result: str, seconds: float, name: str = "") -> None:
    """Here, and not beside what it counts in: every request comes by. name: of the user, in a
    success."""
    key = (result,)
    counts.ATTEMPTS[key] += 1
    observe(counts.DURATIONS, key, seconds)
    if name:
        kind = name if name in counts.KNOWN else "email_id" if "@" in name else "other"
        counts.USERS[kind,] = counts.USERS.get((kind,), 0) + 1


def recall(server: Server, request: ApiRequest, secret: str) -> tuple[TenantInfo, User] | None:
    """The tenant that the request means and who sends it, where an operator's token says both and
    is remembered. None where `authenticate` and what comes before it have to find out: they would
    say the same."""
    # JWTs and bootstrap tokens have dots; what the connection says of a tenant or a certificate
    # stands in extensions
    if not secret or "." in secret or server.tenant_domain or request.scope.get("extensions"):
        return None
    if request.identified is not None:
        return None
    began = perf_counter()
    tenant_and_user = server.directory.remembered(secret, request.info.tenant)
    if tenant_and_user is not None:
        request.secret = secret
        _count("success", perf_counter() - began, tenant_and_user[1].name)
    return tenant_and_user


async def _sender(server: Server, request: ApiRequest, tenant: Tenant, secret: str) -> User:
    """Raises Unauthorized, and what `ApiRequest.identified` says."""
    if request.identified is not None:
        if isinstance(request.identified, ApiError):
            raise request.identified
        return request.identified
    refused = False
    if (presented := request.presented) is not None:
        if server.certificates.is_proxy(presented) and (
            user := server.proxy_headers.user(request.scope["headers"])
        ):
            return user
        try:
            holder = server.certificates.user(presented, tenant.id)
        except Refused:
            refused = True
        else:
            if holder is not None:
                return holder
    if not secret:
        if not refused and server.external.anonymous.admits(request.info.path):
            return NOBODY
        raise Unauthorized
    request.secret = secret
    try:
        identity = await identify(server, tenant, secret)
    except Refused as refusal:
        request.notes = refusal.notes
        raise Unauthorized from None
    if identity is None:
        raise Unauthorized
    if identity.warning:
        request.warnings.append(identity.warning)
    request.notes = identity.notes
    return identity.user


async def identify(
    server: Server, tenant: Tenant, secret: str, audiences: Sequence[str] = ()
) -> Authenticated | None:
    """Whose bearer token it is in the tenant, for one of ``audiences`` (none: the tenant's API
    itself). None for a token that nobody knows. Raises Refused for one that is not good, or not any
    more."""
    own = server.tokens.issuer(tenant.name)
    accepted, refusals = audiences or (own,), list[Refused]()
    try:
        identity = await _service_account(server, tenant, secret, accepted)
    except Refused as refused:
        identity = None
        refusals.append(refused)
    if identity is not None:
        return identity
    if own in accepted and not refusals:  # an operator's token is for the API itself
        user = await server.directory.token(secret, tenant.id)
        if user is not None:
            return Authenticated(user, (own,))
    try:
        identity = await server.external.identify(
            tenant.id or nobodys_number(tenant.name),
            secret,
            accepted,
            own,
            lambda: server.registry.lookup(tenant),
        )
    except Refused as refused:
        refusals.append(refused)
    if identity is None:
        together(refusals)
    return identity


async def _service_account(
    server: Server, tenant: Tenant, secret: str, audiences: Sequence[str]
) -> Authenticated | None:
    recognized = await server.tokens.recognize(tenant, secret)
    if recognized is None:
        return None
    try:
        await server.registry.watches.heard(tenant.id)
        lookup, used = server.registry.lookup(tenant), partial(server.token_used, tenant)
        return await server.tokens.admit(recognized, audiences, lookup, used=used)
    except TenantGone:
        raise Refused(f"tenant {tenant.name} is gone") from None


def bearer_token(request: ApiRequest) -> str:
    """From the Authorization header, or from the subprotocol of a WebSocket, which browsers can
    set. "" when there is none. Raises Unauthorized for a subprotocol that is no token, or one of
    several, or the only one: a client is told another that it may speak (k8s.io/apiserver
    ``authentication/request/{bearertoken,websocket}``)."""
    scheme, *words = request.header(b"authorization").strip().split(" ", 2)
    if scheme.lower() == "bearer" and words:
        if words[0]:
            return words[0]
        request.warnings.append(_SPACE)
    if request.scope["type"] != "websocket":
        return ""
    offered = [p.strip() for p in request.header(b"sec-websocket-protocol").split(",")]
    tokens = [p.removeprefix(_PROTOCOL) for p in offered if p.startswith(_PROTOCOL)]
    if not tokens:
        return ""
    if len(tokens) > 1 or (token := _decoded(tokens[0])) is None:
        raise Unauthorized
    if token and len(offered) == 1:
        raise Unauthorized
    return token


def _decoded(text: str) -> str | None:
    """base64url without padding, of UTF-8; None for anything else."""
    if not _BASE64URL.fullmatch(text):
        return None
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        return None


async def impersonate(server: Server, request: ApiRequest, user: User) -> User:
    """The user that Impersonate-* headers name, once ``user`` may act as them. Raises Forbidden,
    BadRequest."""
    if b"impersonate-" not in b" ".join(request.raw_headers):
        return user
    pairs = [
        (n.decode("latin-1"), v.decode("utf-8", "replace"))
        for n, v in request.scope["headers"]
        if n.startswith(b"impersonate-")
    ]
    target = read_headers(pairs)
    if target is None:
        return user

    async def authorize(question: Attributes) -> Decision:
        return await decide(server, request.tenant, question)

    attributes, number = attributes_of(request, user), request.tenant.id
    last = server.last_modes.get(number, user.name)
    acting, mode = await act_as(target, attributes, authorize, last)
    if mode != last:
        server.last_modes.set(number, user.name, mode)
    request.constraint = MODES[mode].verb if MODES[mode].constrained else ""
    return acting
