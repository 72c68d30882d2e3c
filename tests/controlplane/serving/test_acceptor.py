from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from typing import Any, cast

from controlplane.serving.acceptor import Acceptor
from controlplane.serving.connections import Connections
from controlplane.serving.limits import Limits


class Exhausted:
    """A listener whose process has no descriptor left."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        os.write(self._writer, b".")  # always readable
        self.tries = 0

    def fileno(self) -> int:
        return self.reader

    def accept(self) -> tuple[socket.socket, Any]:
        self.tries += 1
        raise OSError(errno.EMFILE, "Too many open files")

    def close(self) -> None:
        os.close(self.reader)
        os.close(self._writer)


async def test_without_descriptors_it_pauses() -> None:
    listener, connections = Exhausted(), Connections(Limits())
    acceptor = Acceptor(
        cast(socket.socket, listener), ssl.create_default_context(), connections, cast(Any, None)
    )
    idle = connections.admit("10.0.0.1")
    assert idle is not None
    acceptor.start()
    for _ in range(100):
        await asyncio.sleep(0)
    acceptor.close()
    listener.close()
    assert listener.tries == 1, "once in a hundred turns of the loop"
    assert len(connections) == 0, "whoever was idle made room"
