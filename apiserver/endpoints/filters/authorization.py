"""Whether the user may do what the request asks for."""

from __future__ import annotations

from apiserver.authz.attributes import Attributes, forbidden
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.errors import Forbidden


def attributes_of(request: ApiRequest) -> Attributes:
    info = request.info
    return Attributes(
        user=request.user,
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


async def authorize(server: Server, request: ApiRequest) -> None:
    """Raises Forbidden."""
    if request.info.path in ALWAYS_ALLOWED:
        return
    await ask(server, request, attributes_of(request))


async def authorize_create(server: Server, request: ApiRequest) -> None:
    """The second question of a PUT or an apply that finds nothing to change. Raises Forbidden."""
    await ask(server, request, attributes_of(request)._replace(verb="create"))


UNSAFE = "unsafe-delete-ignore-read-errors"


async def authorize_unsafe(server: Server, request: ApiRequest) -> None:
    """The second question of a DELETE with ignoreStoreReadErrorWithClusterBreakingPotential. Raises Forbidden."""
    info = request.info
    decision = await server.authorizer.authorize(request.tenant, attributes_of(request)._replace(verb=UNSAFE))
    if not decision.allowed:
        raise Forbidden(info.group_resource, info.name, f'not permitted to do "{UNSAFE}", reason: {decision.reason}')


async def ask(server: Server, request: ApiRequest, attributes: Attributes) -> None:
    decision = await server.authorizer.authorize(request.tenant, attributes)
    if not decision.allowed:
        raise forbidden(attributes, decision.reason)
