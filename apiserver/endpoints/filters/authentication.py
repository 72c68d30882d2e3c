"""Who sends the request: a bearer token's user, or system:anonymous; then whom the request acts as (impersonation).

A bearer token is a service account's (`apiserver.authn.serviceaccounts`) or one that an operator made (the directory)."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from apiserver.authn.claims import Refused
from apiserver.authn.impersonation import read_headers
from apiserver.authn.serviceaccounts import Authenticated
from apiserver.authz.attributes import Attributes, forbidden
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.errors import Unauthorized
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import TenantGone
from apiserver.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User

_ANONYMOUS = User(ANONYMOUS, groups=(UNAUTHENTICATED,))
_PROTOCOL = "base64url.bearer.authorization.k8s.io."


async def authenticate(server: Server, request: ApiRequest) -> User:
    """Raises Unauthorized for a token that is not known; nobody is silently made anonymous."""
    secret = bearer_token(request)
    if not secret:
        if server.anonymous:
            return _ANONYMOUS
        raise Unauthorized
    try:
        found = await identify(server, request.tenant, secret)
    except Refused:
        found = None
    if found is None:
        raise Unauthorized
    return found.user


async def identify(server: Server, tenant: Tenant, secret: str, audiences: Sequence[str] = ()) -> Authenticated | None:
    """Whose bearer token it is in the tenant, for one of ``audiences`` (none: the tenant's API itself). None for a token that nobody
    knows. Raises Refused for a service account's that is not good, or not any more."""
    own = server.tokens.issuer(tenant.name)
    found = await _service_account(server, tenant, secret, audiences or (own,))
    if found is None and (not audiences or own in audiences):  # an operator's token is for the API itself
        user = await server.directory.token(secret, tenant.id)
        found = None if user is None else Authenticated(user, (own,))
    if found is None or AUTHENTICATED in found.user.groups:
        return found
    user = found.user
    return found._replace(user=User(user.name, user.uid, (*user.groups, AUTHENTICATED), user.extra))


async def _service_account(server: Server, tenant: Tenant, secret: str, audiences: Sequence[str]) -> Authenticated | None:
    known = server.tokens.recognize(tenant, secret) if tenant.id else None
    if known is None:
        return None
    try:
        await server.registry.watches.heard(tenant.id)
        return await server.tokens.admit(known, audiences, server.registry.lookup(tenant))
    except TenantGone:
        raise Refused(f"tenant {tenant.name} is gone") from None


def bearer_token(request: ApiRequest) -> str:
    """From the Authorization header, or from the WebSocket subprotocol that browsers can set. "" when there is none.
    Raises Unauthorized for a subprotocol that is no base64."""
    scheme, _, value = request.header(b"authorization").strip().partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    for protocol in request.header(b"sec-websocket-protocol").split(","):
        if protocol.strip().startswith(_PROTOCOL):
            encoded = protocol.strip()[len(_PROTOCOL) :]
            try:
                return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("latin-1")
            except ValueError:
                raise Unauthorized from None
    return ""


async def impersonate(server: Server, request: ApiRequest, user: User) -> User:
    """The user that Impersonate-* headers name, once ``user`` may act as them. Raises Forbidden, BadRequest."""
    if b"impersonate-user" not in request.raw_headers and not any(n.startswith(b"impersonate-") for n in request.raw_headers):
        return user
    pairs = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in request.scope["headers"] if n.startswith(b"impersonate-")]
    wanted = read_headers(pairs)
    if wanted is None:
        return user
    for check in wanted.checks:
        attributes = Attributes(
            user, "impersonate", check.group, check.version, check.resource, check.subresource, check.namespace, check.name
        )
        decision = await server.authorizer.authorize(request.tenant, attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)
    return wanted.user
