"""The other workers of this machine, for scrapes of metrics."""

from __future__ import annotations

from pathlib import Path

from apiserver.endpoints import flow_metrics
from apiserver.endpoints.metric_peers import Peers
from apiserver.endpoints.metric_types import Snapshot
from apiserver.endpoints.metrics import lag, snapshot
from apiserver.endpoints.server import Server
from controlplane import environment


async def meet(server: Server) -> None:
    """Nothing to do where no supervisor has started this worker."""
    if directory := environment.text("METRICS_DIR"):

        def counted(number: int) -> Snapshot:
            lag.set((), server.registry.watches.behind)
            flows = flow_metrics.gather(server.flows, number or None)
            return snapshot(number) | flows.snapshot()

        server.peers = Peers(Path(directory), counted)
        await server.peers.start()
