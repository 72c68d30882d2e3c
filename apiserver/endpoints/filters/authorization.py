"""Whether the user may do what the request asks for."""

from __future__ import annotations

from apiserver.audit.trail import DECISION, REASON
from apiserver.authz.attributes import Attributes, Decision, forbidden
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.errors import Forbidden
from apiserver.registry.scope import NO_TENANT, Tenant
from apiserver.user import User


def attributes_of(request: ApiRequest, user: User) -> Attributes:
    """What the request asks for, were ``user`` to ask for it."""
    info = request.info
    return Attributes(
        user=user,
        verb=info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        path=info.path,
        is_resource=info.is_resource,
    )


ALWAYS_ALLOWED = frozenset({"/healthz", "/livez", "/readyz"})
"""Probes work whatever RBAC says (kube-apiserver's --authorization-always-allow-paths)."""


_PUBLIC = ALWAYS_ALLOWED | {"/version", "/version/"}
"""What system:public-info-viewer lets everybody read."""


async def decide(server: Server, tenant: Tenant, attributes: Attributes) -> Decision:
    """By the tenant's RBAC; outside of all tenants by what RBAC allows to everybody in a tenant
    that nobody has changed."""
    if tenant == NO_TENANT:
        return Decision(
            not attributes.is_resource and attributes.verb == "get" and attributes.path in _PUBLIC
        )
    return await server.authorizer.authorize(tenant, attributes)


async def authorize(server: Server, request: ApiRequest) -> None:
    """Raises Forbidden."""
    if request.info.path not in ALWAYS_ALLOWED:
        await ask(server, request, attributes_of(request, request.user))
    request.authorized = True


async def authorize_create(server: Server, request: ApiRequest) -> None:
    """The second question of a PUT or an apply that finds nothing to change. Raises Forbidden."""
    await ask(server, request, attributes_of(request, request.user)._replace(verb="create"))


UNSAFE = "unsafe-delete-ignore-read-errors"


async def authorize_unsafe(server: Server, request: ApiRequest) -> None:
    """The second question of a DELETE with ignoreStoreReadErrorWithClusterBreakingPotential. Raises
    Forbidden."""
    info = request.info
    decision = await server.authorizer.authorize(
        request.tenant, attributes_of(request, request.user)._replace(verb=UNSAFE)
    )
    if not decision.allowed:
        raise Forbidden(
            info.group_resource,
            info.name,
            f'not permitted to do "{UNSAFE}", reason: {decision.reason}',
        )


async def ask(server: Server, request: ApiRequest, attributes: Attributes) -> None:
    decision = request.decision = await decide(server, request.tenant, attributes)
    if request.trail is not None:
        notes = request.trail.annotations
        notes[DECISION] = "allow" if decision.allowed else "forbid"
        notes[REASON] = decision.reason
    if not decision.allowed:
        raise forbidden(attributes, decision.reason)
