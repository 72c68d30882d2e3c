"""Clients that ask for much and never read: what waits for them is bounded, and after the deadline
they are gone.

The worker's memory is looked at from outside, because what a transport keeps is in no count of the
application's own.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installation import Installation, eventually
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

DEADLINE = 4
"""Seconds; what POLYPLANE_STALL_SECONDS is set to."""
CLIENTS = 15
BOUND = 128 * 2**20
"""Of 540 MB that they ask for: three copies of an object for each client (the event, its frame,
what TLS holds), the changes that are made meanwhile, and what the allocator does not give back."""
LARGE = 900_000
WEBSOCKET = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
    "13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
)
PATH = "/api/v1/namespaces/default/configmaps"


class Silent(Installation):
    first = 0


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Silent]:
    """One worker, with 40 large objects in its cache, that has answered everything once. first: the
    version before them."""
    made = Silent(tmp_path_factory.mktemp("unread"))
    made.env |= {"POLYPLANE_WORKERS": "1", "POLYPLANE_STALL_SECONDS": str(DEADLINE)}
    made.start()
    made.first = int(made.request("GET", PATH)[1]["metadata"]["resourceVersion"])
    for i in range(40):
        assert made.request("POST", PATH, large(i))[0] == 201
    for i in range(80):  # twice what the window of recent changes holds
        assert (
            made.request("PUT", f"{PATH}/large-{i % 40}", large(i % 40, "z" if i < 40 else "x"))[0]
            == 200
        )
    for path in (PATH, "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1", "/metrics"):
        for _ in range(2):
            assert made.request("GET", path)[0] == 200
    yield made
    made.stop()


def large(i: int, text: str = "x") -> dict[str, object]:
    metadata = {"name": f"large-{i}", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"text": text * LARGE},
    }


def silent(installation: Installation, request: str) -> ssl.SSLSocket:
    """A connection that asks and does not read; its own buffer is as small as it can be."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(PATIENCE)
    raw.connect(("127.0.0.1", installation.port))
    context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))
    connection = context.wrap_socket(raw, server_hostname="127.0.0.1")
    connection.sendall(
        (f"{request}\r\nHost: x\r\nAuthorization: Bearer {installation.token}\r\n\r\n").encode()
    )
    return connection


def worker(installation: Installation) -> int:
    (pid,) = installation.below("serve --fd")
    return pid


def memory(pid: int) -> int:
    """Bytes of the process that are resident."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def connections(installation: Installation) -> int:
    """The server's ends of TCP connections to its port that are there, whatever their state but
    listening."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(1 for f in lines if f[1].endswith(f":{installation.port:04X}") and f[3] != "0A")


@pytest.mark.parametrize(
    ("request_line", "ends"),
    [
        (f"GET {PATH}?watch=1&resourceVersion=0 HTTP/1.1", True),
        (f"GET {PATH}?watch=1&resourceVersion=$FIRST HTTP/1.1", True),
        (
            f"GET "
            f"{PATH}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
            "allowWatchBookmarks=true HTTP/1.1",
            True,
        ),
        (f"GET {PATH} HTTP/1.1", True),
        (f"GET {PATH} HTTP/1.1\r\nAccept: application/yaml", True),
        (f"GET {PATH}/large-1 HTTP/1.1", False),
        ("GET /openapi/v2 HTTP/1.1", False),
        (f"GET {PATH}?watch=1&resourceVersion=0 HTTP/1.1\r\n{WEBSOCKET}", True),
    ],
    ids=["watch", "log", "initial-events", "list", "list-yaml", "get", "openapi", "websocket"],
)
def test_what_is_not_read_is_bounded_and_ends(
    installation: Silent, request_line: str, ends: bool
) -> None:
    """``ends``: whether the answer is too large for the kernel to take it all; one that it has
    taken leaves an idle connection."""
    pid = worker(installation)
    request_line = request_line.replace("$FIRST", str(installation.first))
    idle = connections(installation)
    silent(installation, request_line).close()  # whatever the first of its kind builds once
    time.sleep(1)
    eventually(lambda: connections(installation) <= idle)
    before, open_before = memory(pid), connections(installation)
    most = before
    clients = [silent(installation, request_line) for _ in range(CLIENTS)]
    try:
        for i in range(20):  # what changes meanwhile waits for those who watch
            assert installation.request("PUT", f"{PATH}/large-{i}", large(i, "y"))[0] == 200
            most = max(most, memory(pid))
        print(f"{(most - before) / 2**20:.0f} MiB", request_line.splitlines()[0])
        if ends:
            eventually(lambda: connections(installation) <= open_before)
    finally:
        for client in clients:
            client.close()
    most = max(most, memory(pid))
    assert most - before < BOUND
