"""One worker process: uvicorn's server on a listening socket, behind the bounds of
`controlplane.serving`."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import logging
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

import uvicorn

from controlplane import environment
from controlplane.certificates import ServingFiles, client_authorities
from controlplane.serving import clientcertificates, servername, tls
from controlplane.serving.acceptor import Acceptor
from controlplane.serving.certificatefiles import EVERY, CertificateFiles
from controlplane.serving.connections import Connections, Seat
from controlplane.serving.heartbeat import Heartbeat
from controlplane.serving.http import HttpProtocol
from controlplane.serving.limits import Limits, raise_descriptor_limit
from controlplane.serving.loop import FairLoop
from controlplane.serving.websocket import MAX_MESSAGE, WebSocketProtocol

log = logging.getLogger("polyplane.serving")

# new objects; what is there after the start (schemas above all) is never looked at again: full
# rounds took 70 ms
_GARBAGE_AFTER = 5000


def configuration(files: ServingFiles) -> uvicorn.Config:
    return uvicorn.Config(
        "controlplane.asgi:application",
        loop=f"{FairLoop.__module__}:{FairLoop.__name__}",
        http=HttpProtocol,
        ws=WebSocketProtocol,
        ws_max_size=MAX_MESSAGE,
        lifespan="on",
        interface="asgi3",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=environment.number("SHUTDOWN_SECONDS", 10),
        ssl_certfile=str(files.certificate),
        ssl_keyfile=str(files.key),
    )


class WorkerServer(uvicorn.Server):
    """uvicorn waits for open requests before it tells the application to stop, and a watch is an
    open request: the application hears it here first, so that readiness fails and watches end, and
    then uvicorn has nothing left to wait for."""

    def __init__(
        self,
        config: uvicorn.Config,
        limits: Limits,
        heartbeat: Heartbeat,
        of_tenants: Mapping[str, socket.socket],
    ) -> None:
        super().__init__(config)
        self._of_tenants = of_tenants
        self._connections, self._heartbeat = Connections(limits), heartbeat
        self._files: CertificateFiles | None = None
        self._ticking: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, with acceptors in the place of asyncio's servers."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            raise SystemExit(uvicorn.config.STARTUP_FAILURE)
        gc.collect()
        gc.freeze()
        gc.set_threshold(_GARBAGE_AFTER, 20, 50)
        context = self.config.ssl
        assert sockets and context is not None
        tls.restrict(context)
        if environment.domain("TENANT_DOMAIN"):
            servername.note_in(context)
        clientcertificates.ask(context, client_authorities())
        files = Path(str(self.config.ssl_certfile)), Path(str(self.config.ssl_keyfile))
        self._files = CertificateFiles(context, *files)
        listeners = [("", sock) for sock in sockets] + list(self._of_tenants.items())
        acceptors = [
            Acceptor(sock, context, self._connections, self._protocol, tenant)
            for tenant, sock in listeners
        ]
        for acceptor in acceptors:
            acceptor.start()
        self.servers = acceptors  # type: ignore[assignment]  # uvicorn closes them
        self._ticking = asyncio.create_task(self._tick())
        self.started = True
        log.info("worker serves, at most %d connections", self._connections.limits.connections)

    def _protocol(self, seat: Seat) -> HttpProtocol:
        return HttpProtocol(
            self.config, self.server_state, self.lifespan.state, seat, self._connections
        )

    async def _tick(self) -> None:
        """As long as the event loop goes round: also while the worker stops."""
        for second in count(1):
            self._heartbeat.beat()
            self._connections.sweep()
            if second % EVERY == 0 and self._files is not None:
                self._files.look()
            await asyncio.sleep(1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn's hook when a signal has come: the delay for load balancers, then the end of
        watches, then uvicorn's own end of what is left."""
        from controlplane.asgi import application

        if application.server is not None:
            application.server.leaving = True
            await asyncio.sleep(
                environment.number("SHUTDOWN_DELAY_SECONDS", 0)
            )  # load balancers see that readiness fails
            application.server.stopping = True
            await application.server.registry.watches.stop()
            if application.server.aggregator is not None:
                application.server.aggregator.end_exchanges()
        await super().shutdown(sockets)


def serve(
    listener: socket.socket, of_tenants: Mapping[str, socket.socket], files: ServingFiles
) -> int:
    """Serves until SIGTERM or SIGINT; the exit code. ``of_tenants``: listeners for one tenant each,
    by its name."""
    with suppress(AttributeError, ValueError):
        faulthandler.register(
            signal.SIGUSR1, all_threads=True
        )  # the supervisor asks where a worker hangs before it ends it
    limits = Limits.from_environment(raise_descriptor_limit())
    server = WorkerServer(configuration(files), limits, Heartbeat.inherited(), of_tenants)
    server.run(sockets=[listener])
    return 0 if server.started else 3
