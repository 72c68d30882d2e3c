"""One worker process: uvicorn on a listening socket, with TLS."""

from __future__ import annotations

import asyncio
import gc
import socket

import uvicorn

from controlplane import environment
from controlplane.certificates import ServingFiles

_GARBAGE_AFTER = 5000  # new objects; what is there after the start (schemas above all) is never looked at again: full rounds took 70 ms
_KEEP_ALIVE = 120  # seconds; above the 90 s for which Go's clients keep an idle connection, so that they close first


def configuration(files: ServingFiles) -> uvicorn.Config:
    return uvicorn.Config(
        "controlplane.asgi:application",
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=1 << 20,
        lifespan="on",
        interface="asgi3",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        backlog=2048,
        limit_concurrency=environment.number("MAX_CONNECTIONS", 20_000, least=1),
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=environment.number("SHUTDOWN_SECONDS", 10),
        ssl_certfile=str(files.certificate),
        ssl_keyfile=str(files.key),
    )


class WorkerServer(uvicorn.Server):
    """uvicorn waits for open requests before it tells the application to stop, and a watch is an open request: the application hears
    it here first, so that readiness fails and watches end, and then uvicorn has nothing left to wait for."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()
        gc.set_threshold(_GARBAGE_AFTER, 20, 50)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        from controlplane.asgi import application

        if application.server is not None:
            application.server.leaving = True
            await asyncio.sleep(environment.number("SHUTDOWN_DELAY_SECONDS", 0))  # load balancers see that readiness fails
            application.server.stopping = True
            await application.server.registry.watches.stop()
        await super().shutdown(sockets)


def serve(listener: socket.socket, files: ServingFiles) -> int:
    """Serves until SIGTERM or SIGINT; the exit code."""
    server = WorkerServer(configuration(files))
    server.run(sockets=[listener])
    return 0 if server.started else 3
