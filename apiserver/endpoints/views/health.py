"""/livez, /readyz, /healthz: single checks, verbose, exclude ("Kubernetes API health endpoints";
k8s.io/apiserver ``server/healthz``).

At start, /livez forgives a start that is not finished for ``Server.livez_grace`` seconds; at the
end, /readyz fails as soon as the process has been told to stop, and everything else goes on as long
as the shutdown delay lasts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from django.http import HttpResponse

from apiserver.endpoints import metrics
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.storage.errors import StorageError

ROOTS = ("livez", "readyz", "healthz")
DATABASE_TIMEOUT = 2.0
"""Seconds; kube-apiserver gives etcd as long."""
_NO_TENANT = 0
"""Probes ask for no tenant's data, only for an answer."""
_PLAIN = "text/plain; charset=utf-8"

Check = Callable[[Server, ApiRequest], Awaitable[str]]
"""Returns "" or the reason why the check fails."""


async def _ping(server: Server, request: ApiRequest) -> str:
    return ""


async def _database(server: Server, request: ApiRequest) -> str:
    try:
        async with asyncio.timeout(DATABASE_TIMEOUT):
            await server.registry.store.heads([_NO_TENANT])
    except TimeoutError:
        return f"the database did not answer within {DATABASE_TIMEOUT:g} s"
    except StorageError as e:
        return str(e)
    return ""


async def _started(server: Server, request: ApiRequest) -> str:
    return "" if server.started else "not finished"


async def _started_or_young(server: Server, request: ApiRequest) -> str:
    young = time.monotonic() - server.born < server.livez_grace
    return "" if young else await _started(server, request)


async def _shutdown(server: Server, request: ApiRequest) -> str:
    return "process is shutting down" if server.leaving or server.stopping else ""


_COMMON: dict[str, Check] = {"ping": _ping, "log": _ping, "etcd": _database}
_HOOKS = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
    "start-polyplane",
)
"""Steps of the start by the names of kube-apiserver's hooks, which probes ask for and exclude; all
are one step here. Those of bootstrap objects hold for every tenant that is served, because seeding
comes before a tenant's first answer. Hooks that have no counterpart here are not listed."""


def _start(check: Check) -> dict[str, Check]:
    hooks = {f"poststarthook/{name}": check for name in _HOOKS}
    return {**hooks, "autoregister-completion": check}


CHECKS: Mapping[str, Mapping[str, Check]] = {
    "livez": {**_COMMON, **_start(_started_or_young)},
    "healthz": {**_COMMON, **_start(_started)},
    "readyz": {
        **_COMMON,
        "etcd-readiness": _database,
        "informer-sync": _started,
        **_start(_started),
        "shutdown": _shutdown,
    },
}
"""etcd and etcd-readiness keep the names that probes exclude; they ask PostgreSQL."""


def _always(reason: str) -> Check:
    async def check(server: Server, request: ApiRequest) -> str:
        return reason

    return check


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    root, slash, name = request.info.path.removeprefix("/").partition("/")
    checks = CHECKS[root]
    return (
        await _single(server, request, checks, name)
        if slash
        else await _all(server, request, root, checks)
    )


async def _all(
    server: Server, request: ApiRequest, root: str, checks: Mapping[str, Check]
) -> HttpResponse:
    excluded = set(request.query.get("exclude", ()))
    lines, failed = [], False
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
            continue
        reason = await check(server, request)
        metrics.checked(request.tenant.id, name, root, passed=not reason)
        failed = failed or bool(reason)
        lines.append(f"[-]{name} failed: reason withheld" if reason else f"[+]{name} ok")
    parts = dict(server.external.health()) if root == "readyz" else {}
    lines += [
        f"[!]{name} degraded: reason withheld" if parts[name] else f"[+]{name} ok" for name in parts
    ]
    unknown = sorted(excluded - set(checks) - set(parts))
    if unknown:
        listed = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}")
    if failed:
        return HttpResponse(
            "\n".join([*lines, f"{root} check failed", ""]), status=500, content_type=_PLAIN
        )
    if "verbose" in request.query:
        return HttpResponse("\n".join([*lines, f"{root} check passed", ""]), content_type=_PLAIN)
    return HttpResponse(b"ok", content_type=_PLAIN)


async def _single(
    server: Server, request: ApiRequest, checks: Mapping[str, Check], name: str
) -> HttpResponse:
    parts = dict(server.external.health())
    check = checks.get(name)
    if check is None and name in parts:
        check = _always(parts[name])
    if check is None:
        return HttpResponse(b"404 page not found\n", status=404, content_type=_PLAIN)
    reason = await check(server, request)
    if reason:
        return HttpResponse(f"internal server error: {reason}\n", status=500, content_type=_PLAIN)
    return HttpResponse(b"ok", content_type=_PLAIN)
