"""Which tenant a request means: the one that its path, its host or its port names, else the one
tenant that its certificate or its token is good in, else ``default``.

What is named explicitly decides, and a token of another tenant is refused there. The token is only
asked where nothing is named: clients that build URLs from host and port alone lose the prefix
``/clusters/<tenant>``, and their tokens say where they belong. Nothing is proven here: the answer
is a name, which authentication then judges the token by, so no token reaches a tenant that it is
not good in. A name that a client has made up is looked up as one in the path is, and told apart by
nobody without a good token.
"""

from __future__ import annotations

from apiserver.endpoints.request import PORT_OF, SERVER_NAME, ApiRequest
from apiserver.endpoints.server import Server
from apiserver.errors import BadRequest
from apiserver.golang.strconv import go_quote
from apiserver.request import DEFAULT_TENANT


async def tenant_name(server: Server, request: ApiRequest, secret: str) -> str:
    """``secret``: the bearer token, "" without one. Raises BadRequest where path, host, port and
    the server name of TLS do not name the same tenant."""
    if server.tenant_domain:
        if sum(name == b"host" for name, _ in request.scope["headers"]) > 1:
            raise BadRequest("too many Host headers")
        _name_by(request, **_by_host(server.tenant_domain, request))
    elif PORT_OF in (request.scope.get("extensions") or ()):
        _name_by(request)
    if request.info.tenant:
        return request.info.tenant
    presented = request.presented
    if presented is not None and (number := server.certificates.tenant(presented)):
        return await server.directory.named(number)
    if not secret:
        return DEFAULT_TENANT
    return server.tokens.claimed_tenant(secret) or await server.directory.home(secret)


def _by_host(domain: str, request: ApiRequest) -> dict[str, str]:
    server_name = (request.scope.get("extensions") or {}).get(SERVER_NAME, "")
    return {
        "host": _below(domain, _host(request.header(b"host"))),
        "TLS server name": _below(domain, server_name),
    }


def _name_by(request: ApiRequest, **named_by: str) -> None:
    """Writes the tenant that the connection and the host name into the request's info."""
    port = (request.scope.get("extensions") or {}).get(PORT_OF, "")
    names = {"path": request.info.tenant, "port": port, **named_by}
    named = {where: name for where, name in names.items() if name}
    if len(set(named.values())) > 1:
        said = ", ".join(f"the {where} names {go_quote(name)}" for where, name in named.items())
        raise BadRequest(f"the request is for more than one tenant: {said}")
    for name in named.values():
        request.info = request.info._replace(tenant=name)
        return


def _host(authority: str) -> str:
    """Without the port."""
    return authority if authority.endswith("]") else authority.partition(":")[0]


def _below(domain: str, host: str) -> str:
    """What stands before the domain, "" for the domain itself and for any other host. It need not
    be a tenant's name: what cannot be one leads nowhere, as in a path."""
    host = host.lower().removesuffix(".")
    return host[: -len(domain) - 1] if host.endswith("." + domain) else ""
