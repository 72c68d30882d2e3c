"""/metrics and /metrics/slis in Prometheus' text format, under kube-apiserver's names: of the
tenant that is asked, or of the whole installation, by all workers of this machine.

``/clusters/<tenant>/metrics`` is the tenant's, whoever asks. ``/metrics``, at a host that names no
tenant, is that of the whole installation to who may see all of it, an operator's token that is good
in all tenants and has the group system:masters, or whose console account reads metrics
(`apiserver.platformroles`), and that of the request's tenant to everybody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from time import monotonic

from django.http.response import HttpResponseBase

from apiserver.endpoints import flow_metrics, metrics, process_metrics
from apiserver.endpoints.metric_peers import EVERYTHING
from apiserver.endpoints.metric_types import Snapshot
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import PartsResponse
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.base import View, of_installation
from apiserver.endpoints.views.version import document
from apiserver.platformroles import METRICS_READERS
from apiserver.storage.errors import StorageError

COUNT_EVERY = 60.0
"""Seconds between counts of what is stored, as in kube-apiserver."""
_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    everything, families = _asked(request)
    if monotonic() >= families.due:
        families.due = monotonic() + COUNT_EVERY
        try:
            families.set_objects(
                await server.registry.store.counts(None if everything else request.tenant.id)
            )
        except StorageError:
            families.set_objects(
                {}
            )  # what cannot be counted is not told; the other metrics are wanted most just then
    if everything:
        await server.storage_size.look(server.registry.store, metrics.storage_size)
    metrics.lag.set((), server.registry.watches.behind)
    metrics.fold()
    own, others = await _counted(server, request, everything=everything)
    tenant = None if everything else request.tenant.id
    lines = chain(
        process_metrics.expose(document(server.git_version)),
        families.registry.expose(others, own),
        flow_metrics.expose(server.flows, tenant, others, own),
    )
    return PartsResponse(lines, content_type=_MEDIA_TYPE)


async def slis(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    """/metrics/slis: results of health checks, and nothing else."""
    everything, families = _asked(request)
    own, others = await _counted(server, request, everything=everything)
    lines = families.health.registry.expose(others, own)
    return PartsResponse(lines, content_type=_MEDIA_TYPE)


def _asked(request: ApiRequest) -> tuple[bool, metrics.Families]:
    """Whether it is about the whole installation, and what this worker has counted."""
    everything = of_installation(request, METRICS_READERS)
    return everything, metrics.ALL if everything else metrics.of_tenant(request.tenant.id)


async def _counted(
    server: Server, request: ApiRequest, *, everything: bool
) -> tuple[Snapshot | None, Sequence[Snapshot]]:
    """What this worker has counted, None for all that it has, and what the others have."""
    if server.peers is None:
        return None, ()
    return await server.peers.counted(EVERYTHING if everything else request.tenant.id)


VIEWS: dict[str, View] = {"/metrics": dispatch, "/metrics/slis": slis}
