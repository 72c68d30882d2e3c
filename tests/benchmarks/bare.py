"""The yardstick of reads and streams: a bare ASGI application on the same server with the same
options, TLS and number of processes.

``/SIZE`` answers that many bytes; ``/stream/SIZE`` sends pieces of that size for as long as the
client stays.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from functools import cache
from typing import Any

import uvicorn

from controlplane import certificates
from controlplane.datadir import DataDir
from controlplane.worker import configuration


@cache
def filling(size: int) -> bytes:
    """Ends as a watch event does, which is what the clients of a stream count."""
    return b"x" * (size - 2) + b"}\n"


async def application(scope: Any, receive: Any, send: Any) -> None:
    *path, size = scope["path"].split("/")
    body = filling(int(size))
    if "stream" in path:
        await _stream(body, receive, send)
        return
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(piece: bytes, receive: Any, send: Any) -> None:
    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    leaving = asyncio.create_task(gone())
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    while not leaving.done():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(0)  # other connections get their turn


def main(descriptor: int) -> None:
    config = configuration(certificates.ensure(DataDir.from_environment()))
    config.app, config.lifespan = application, "off"
    config.http, config.ws = (
        "httptools",
        "websockets-sansio",
    )  # the yardstick is uvicorn's own, without our bounds
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    main(int(sys.argv[1]))
