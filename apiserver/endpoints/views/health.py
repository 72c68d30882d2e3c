"""/livez, /readyz, /healthz: single checks, verbose, exclude ("Kubernetes API health endpoints")."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.http import HttpResponse

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.storage.errors import StorageError

ROOTS = ("livez", "readyz", "healthz")
_PLAIN = "text/plain; charset=utf-8"

Check = Callable[[Server, ApiRequest], Awaitable[str]]
"""Returns "" or the reason why the check fails."""


async def _ping(server: Server, request: ApiRequest) -> str:
    return ""


async def _database(server: Server, request: ApiRequest) -> str:
    try:
        await server.registry.store.head(request.tenant.id)
    except StorageError as e:
        return str(e)
    return ""


async def _informer_sync(server: Server, request: ApiRequest) -> str:
    return "" if server.started else "not started"


async def _shutdown(server: Server, request: ApiRequest) -> str:
    return "process is shutting down" if server.stopping else ""


_LIVE: dict[str, Check] = {"ping": _ping, "log": _ping, "etcd": _database, "poststarthook/start-polyplane": _informer_sync}
CHECKS: dict[str, dict[str, Check]] = {
    "livez": _LIVE,
    "healthz": _LIVE,
    "readyz": {**_LIVE, "etcd-readiness": _database, "informer-sync": _informer_sync, "shutdown": _shutdown},
}
"""etcd and etcd-readiness keep the names that probes exclude; they ask PostgreSQL."""


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    parts = [p for p in request.info.path.split("/") if p]
    checks = CHECKS[parts[0]]
    if len(parts) > 1:
        return await _single(server, request, checks, "/".join(parts[1:]))
    excluded = set(request.query.get("exclude", ()))
    lines, failed = [], []
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
            continue
        reason = await check(server, request)
        lines.append(f"[-]{name} failed: reason withheld" if reason else f"[+]{name} ok")
        if reason:
            failed.append(name)
    unknown = sorted(excluded - set(checks))
    if unknown:
        listed = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}")
    return _answer(parts[0], lines, bool(failed), verbose="verbose" in request.query)


def _answer(root: str, lines: list[str], failed: bool, *, verbose: bool) -> HttpResponse:
    if failed:
        return HttpResponse("\n".join([*lines, f"{root} check failed", ""]), status=500, content_type=_PLAIN)
    if verbose:
        return HttpResponse("\n".join([*lines, f"{root} check passed", ""]), content_type=_PLAIN)
    return HttpResponse(b"ok", content_type=_PLAIN)


async def _single(server: Server, request: ApiRequest, checks: dict[str, Check], name: str) -> HttpResponse:
    check = checks.get(name)
    if check is None:
        return HttpResponse(b"404 page not found\n", status=404, content_type=_PLAIN)
    reason = await check(server, request)
    if reason:
        return HttpResponse(f"internal server error: {reason}\n", status=500, content_type=_PLAIN)
    return HttpResponse(b"ok", content_type=_PLAIN)
