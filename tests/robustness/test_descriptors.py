"""Connections that say nothing do not keep others out, and do not use up the descriptors of a
worker."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.installation import MANAGE, Installation, eventually
from tests.support.raw import Raw, processor_seconds

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[Installation]:
    """One worker that may open 300 files."""
    installation = Installation(tmp_path_factory.mktemp("descriptors"), prepared)
    installation.env |= {"POLYPLANE_WORKERS": "1"}
    with installation.log.open("w") as out:
        command = ["sh", "-c", "ulimit -n 300; exec " + " ".join([*MANAGE, "up"])]
        installation.process = subprocess.Popen(
            command, env=installation.env, stdout=out, stderr=subprocess.STDOUT, text=True
        )
    eventually(lambda: "Ctrl-C stops it" in installation.output())
    yield installation
    installation.stop()


def probe(server: Installation) -> int:
    with Raw(server) as client:
        client.send(b"GET /readyz HTTP/1.1\r\nHost: polyplane\r\n\r\n")
        return client.answer()[0]


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.parametrize("says", [b"", b"\x16\x03\x01"], ids=["silent", "half a handshake"])
def test_516_idle_connections_keep_nobody_out(server: Installation, says: bytes) -> None:
    pid = server.below("serve --fd")[0]
    with ExitStack() as stack:
        for _ in range(516):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
            idle.sendall(says)
        assert [probe(server) for _ in range(10)] == [200] * 10
        assert descriptors(pid) < 300 - 20
    assert "Traceback" not in server.output() and "cannot accept" not in server.output()


def test_516_idle_clients_keep_nobody_out(server: Installation) -> None:
    with ExitStack() as stack:
        for _ in range(516):
            client = stack.enter_context(Raw(server))
            client.send(b"GET /version HTTP/1.1\r\nHost: polyplane\r\n\r\nGET /half")
        assert [probe(server) for _ in range(10)] == [200] * 10


def test_a_client_at_work_is_not_pushed_out(server: Installation) -> None:
    with ExitStack() as stack:
        watch = stack.enter_context(Raw(server))
        watch.send(
            b"GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: polyplane\r\n",
            f"Authorization: Bearer {server.token}\r\n\r\n".encode(),
        )
        while b"ADDED" not in (first := watch.receive()):
            assert first
        for _ in range(400):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
        assert probe(server) == 200
        name = "seen-by-the-watch"
        assert server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})[0] == 201
        while name.encode() not in (event := watch.receive()):
            assert event


def test_idle_connections_cost_nothing(server: Installation) -> None:
    """A sweep a second over all of them, no spinning."""
    pid = server.below("serve --fd")[0]
    with ExitStack() as stack:
        for _ in range(140):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
        assert probe(server) == 200
        before = processor_seconds(pid)
        with pytest.raises(TimeoutError):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 2)).recv(1)
        assert processor_seconds(pid) - before < 0.5
