"""A tenant's limits of requests in flight and of open watches: whoever comes above them gets 429
and may try again.

A tenant has those of its row, or where that says nothing those of the installation
(`Server.defaults`), and a change of the row counts within two seconds. The workers of one machine
count together (`apiserver.flow.shares`); several machines count each for itself.
"""

from __future__ import annotations

from apiserver.endpoints.filters import fairness
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server, TenantInfo
from apiserver.errors import TooManyRequests
from apiserver.flow.shares import REQUESTS, WATCHES


def take(server: Server, request: ApiRequest, tenant: TenantInfo) -> None:
    """Counts the request until `give_back`. Raises TooManyRequests (k8s.io/apiserver
    ``filters/maxinflight.go``)."""
    if request.info.verb == "watch":
        kind, own, default = WATCHES, tenant.max_watches, server.defaults.watches
    else:
        kind, own, default = REQUESTS, tenant.max_inflight, server.defaults.inflight
    most = default if own is None else own
    request.taken = server.shares.take(tenant.id, kind, most)
    if request.taken is None:
        raise _above(tenant, most, kind)


def become_watch(server: Server, request: ApiRequest, tenant: TenantInfo) -> None:
    """Counts what was taken as a request as a watch, because it goes on for as long. Raises
    TooManyRequests."""
    most = server.defaults.watches if tenant.max_watches is None else tenant.max_watches
    taken = server.shares.take(tenant.id, WATCHES, most)
    if taken is None:
        raise _above(tenant, most, WATCHES)
    give_back(server, request)
    request.taken = taken
    fairness.leave(request)


def _above(tenant: TenantInfo, most: int, kind: int) -> TooManyRequests:
    what = "open watches" if kind == WATCHES else "requests at a time"
    return TooManyRequests(
        f"tenant {tenant.name} is limited to {most} {what}, please try again later", 1
    )


def give_back(server: Server, request: ApiRequest) -> None:
    taken, request.taken = request.taken, None
    if taken is not None:
        server.shares.give_back(taken)
