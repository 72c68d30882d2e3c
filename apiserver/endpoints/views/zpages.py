"""/flagz and /statusz: how the server was told to run, and since when it does, for people as text
and for programs as ``config.k8s.io/v1beta1`` (KEPs 4828 and 4827; k8s.io/apiserver
``server/flagz`` and ``server/statusz``).

A tenant's page shows the settings that change its API. The installation's is for an operator, who
sees all of them, secrets by name only.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec import negotiate
from apiserver.endpoints import encode
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.base import View, of_installation
from apiserver.endpoints.views.discovery import GATES, PATHS
from apiserver.meta import features
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

FLAGZ, STATUSZ = "/flagz", "/statusz"
_COMPONENT = "apiserver"
_VERSIONS = ("v1alpha1", "v1beta1")
_TENANTS = frozenset({"feature-gates", "runtime-config"})
"""Settings that show in what a tenant's API does; the others are nobody's but the operator's."""
_HEAD = """
{} {}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility \
guarantees and is for debugging purposes only.
"""
_NO_PAGES = frozenset({"/apis", "/api", "/openid", "/openapi", "/.well-known"})


async def flagz(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    if not features.enabled(GATES[FLAGZ]):
        return not_found()
    everything = of_installation(request)
    flags = {k: v for k, v in sorted(server.flags.items()) if everything or k in _TENANTS}
    return _answer(request, "Flagz", {"flags": flags} if flags else {}, lambda: _lines(flags))


async def statusz(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    if not features.enabled(GATES[STATUSZ]):
        return not_found()
    began, now = server.started_at.replace(microsecond=0), datetime.now(UTC)
    up = max(0, int((now - began).total_seconds()))
    version = server.git_version.removeprefix("v")
    status: Object = {
        "startTime": format_time(began),
        "uptimeSeconds": up,
        "goVersion": f"python{platform.python_version()}",
        "binaryVersion": version,
        "emulationVersion": ".".join(version.split(".")[:2]),
        "paths": sorted({f"/{p.split('/')[1]}" for p in PATHS} - _NO_PAGES - {STATUSZ}),
    }

    def text() -> str:
        return "\n" + _lines(
            {
                "Started": f"{began:%a %b} {began.day:2d} {began:%H:%M:%S UTC %Y}",
                "Up": f"{up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec",
                "Go version": status["goVersion"],
                "Binary version": version,
                "Emulation version": status["emulationVersion"],
                "Paths": " ".join(status["paths"]),
            }
        )

    return _answer(request, "Statusz", status, text)


def _lines(members: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in members.items())


def _answer(
    request: ApiRequest, kind: str, members: Object, text: Callable[[], str]
) -> HttpResponse:
    """Raises NotAcceptable: structured forms have to be asked for by group, version and kind."""
    name = kind.lower()
    allow = negotiate.allow_page(*(GroupVersionKind("config.k8s.io", v, kind) for v in _VERSIONS))
    accept = request.header(b"accept").strip() or negotiate.TEXT
    pretty = encode.wants_pretty(request)
    accepted = negotiate.negotiate(accept, allow, negotiate.PAGES, pretty=pretty)
    if accepted.convert is None:
        head = _HEAD.format(_COMPONENT, name)
        return HttpResponse(head + text(), content_type=f"{negotiate.TEXT}; charset=utf-8")
    group, version, _ = accepted.convert
    if version == "v1alpha1":
        request.warnings.append(
            f"This version of the {name} endpoint is deprecated. Please use a newer version."
        )
    response = encode.respond(
        {
            "kind": kind,
            "apiVersion": f"{group}/{version}",
            "metadata": {"name": _COMPONENT},
            **members,
        },
        accepted,
    )
    response["Content-Type"] += f";g={group};v={version};as={kind}"
    return response


VIEWS: Mapping[str, View] = {FLAGZ: flagz, STATUSZ: statusz}
"""By path."""
