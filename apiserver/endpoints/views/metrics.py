"""/metrics in Prometheus' text format, under kube-apiserver's names."""

from __future__ import annotations

import time

from django.http import HttpResponse

from apiserver.endpoints import metrics
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.storage.errors import StorageError

COUNT_EVERY = 60.0
"""Seconds between counts of what is stored, as in kube-apiserver."""
_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
_counted = {"due": 0.0}


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponse:
    if time.monotonic() >= _counted["due"]:
        _counted["due"] = time.monotonic() + COUNT_EVERY
        try:
            metrics.set_objects(await server.registry.store.counts())
        except StorageError:
            metrics.set_objects({})  # what cannot be counted is not told; the other metrics are wanted most just then
    return HttpResponse(metrics.REGISTRY.expose(), content_type=_MEDIA_TYPE)
