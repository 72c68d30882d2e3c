"""A tenant's limits of requests in flight and of open watches: whoever comes above them gets 429 and may try again.

Each worker counts what it serves itself, so an installation of n workers may serve up to n times a limit: exact counts would cost every
request a round through the database. Tenants without limits are not counted at all.
"""

from __future__ import annotations

from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server, TenantInfo
from apiserver.errors import TooManyRequests


def take(server: Server, request: ApiRequest, tenant: TenantInfo) -> None:
    """Counts the request until `give_back`. Raises TooManyRequests (k8s.io/apiserver ``filters/maxinflight.go``)."""
    watch = request.info.verb == "watch"
    limit = tenant.max_watches if watch else tenant.max_inflight
    if limit is None:
        return
    counts, key = server.taken, (tenant.id, watch)
    if counts[key] >= limit:
        raise TooManyRequests("too many requests, please try again later", 1)
    counts[key] += 1
    request.taken = key


def give_back(server: Server, request: ApiRequest) -> None:
    key, request.taken = request.taken, None
    if key is not None:
        server.taken[key] -= 1
        if not server.taken[key]:
            del server.taken[key]
