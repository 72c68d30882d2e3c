"""/debug/api_priority_and_fairness/: the priority levels, queues and requests of the tenant in the
worker that answers (k8s.io/apiserver ``util/flowcontrol/apf_controller_debug.go``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.base import View
from apiserver.flow import dump
from apiserver.flow.levels import Levels
from apiserver.registry.options import first

_ROOT = "/debug/api_priority_and_fairness/"


def _requests(levels: Levels, request: ApiRequest) -> str:
    details = bool(first(request.query, "includeRequestDetails"))
    return dump.requests(levels, time.monotonic(), time.time(), details=details)


def _view(text: Callable[[Levels, ApiRequest], str]) -> View:
    async def view(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
        flows = server.flows
        control = None if flows is None else flows.controls.get(request.tenant.id)
        if control is None:
            return not_found()
        body = text(control.levels, request)
        return HttpResponse(body, content_type="text/plain; charset=utf-8")

    return view


VIEWS: Mapping[str, View] = {
    f"{_ROOT}dump_priority_levels": _view(lambda levels, _: dump.priority_levels(levels)),
    f"{_ROOT}dump_queues": _view(lambda levels, _: dump.queues(levels)),
    f"{_ROOT}dump_requests": _view(_requests),
}
"""By path."""
