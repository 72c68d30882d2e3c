"""The embedded server for a command that runs on its own: use the running one, or run one for as
long as the command lasts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from controlplane.datadir import DataDir
from controlplane.embedded.server import EmbeddedServer, accepts
from controlplane.errors import OperatorError


@contextmanager
def running(data: DataDir, timeout: float = 60.0) -> Iterator[None]:
    """Within the block the embedded server answers. A server that this block started stops with it,
    after other clients are done."""
    data.create()
    deadline = time.monotonic() + timeout
    while not accepts(data):
        if (lock := data.try_lock()) is not None:
            server = EmbeddedServer(data)
            try:
                server.start()
                yield
            finally:
                server.stop(signal.SIGTERM, timeout=10)
                os.close(lock)
            return
        if time.monotonic() > deadline:
            raise OperatorError(
                f"Process {data.lock_holder()} holds {data.path}, but its PostgreSQL does not "
                f"answer.",
                f"wait for its start to end, or stop it: kill {data.lock_holder()}",
            )
        time.sleep(0.1)
    yield
