"""An installation of its own for a test: real `manage.py up`, real processes, a data directory and
a port that nobody else has."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from tests.support.waiting import PATIENCE

REPOSITORY = Path(__file__).resolve().parents[2]
MANAGE = [sys.executable, str(REPOSITORY / "manage.py")]


_PORTS = range(20_000, 32_768)
"""Below those that Linux gives to whoever asks for any, and to who connects (ip(7),
ip_local_port_range)."""


def free_port() -> int:
    """One that no other test of this machine gets as long as this process lives."""
    for port in random.sample(_PORTS, len(_PORTS)):
        path = Path(tempfile.gettempdir(), f"polyplane-test-port-{port}")
        lock = os.open(path, os.O_RDWR | os.O_CREAT)
        with suppress(OSError), socket.socket() as s:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            s.bind(("127.0.0.1", port))
            return port  # and the lock stays
        os.close(lock)
    raise AssertionError("all ports are in use")


def eventually(what: Callable[[], Any], within: float = PATIENCE) -> Any:
    deadline = time.monotonic() + within
    while True:
        with suppress(OSError, http.client.HTTPException):
            if value := what():
                return value
        assert time.monotonic() < deadline, f"did not come true within {within} s: {what}"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``, by /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        children = [p for p, q in parents.items() if q == parent]
        found += children
        todo += children
    return found


class Installation:
    """A data directory, a port, and at most one running supervisor. like: whose copy the data
    directory is (fixture ``prepared``); without, the first start makes it."""

    def __init__(self, path: Path, like: Path | None = None) -> None:
        self.data = path / "data"
        if like is not None:  # with PostgreSQL's owner and all modes
            subprocess.run(["cp", "-a", str(like), str(self.data)], check=True)
        self.port = free_port()
        self.env = {
            k: v for k, v in os.environ.items() if not k.startswith(("POLYPLANE_", "DATABASE_URL"))
        }
        self.env |= {
            "POLYPLANE_DATA_DIR": str(self.data),
            "POLYPLANE_PORT": str(self.port),
            "POLYPLANE_WORKERS": "2",
            "POLYPLANE_SHUTDOWN_SECONDS": "5",
        }
        self.log = path / "log"
        self.process: subprocess.Popen[str] | None = None

    def start(self, ready: bool = True) -> None:
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [*MANAGE, "up"], env=self.env, stdout=out, stderr=subprocess.STDOUT, text=True
            )
        if ready:
            try:
                eventually(
                    lambda: "Ctrl-C stops it" in self.output() or self.process.poll() is not None
                )
            except AssertionError:
                self.stop()
            assert self.process.poll() is None, self.output()[-3000:]

    def output(self) -> str:
        return self.log.read_text()

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(signum)
        return self.process.wait(PATIENCE)

    def below(self, word: str) -> list[int]:
        """Direct and indirect children whose command line has the word."""
        assert self.process is not None
        found = []
        for pid in descendants(self.process.pid):
            with suppress(OSError):
                if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "):
                    found.append(pid)
        return found

    def connect(self, timeout: float = PATIENCE) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.data / "ca.crt"))
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=timeout)

    def request(
        self, method: str, path: str, body: Any = None, type: str = "application/json"
    ) -> tuple[int, Any]:
        connection = self.connect()
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": type}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()
        finally:
            connection.close()

    @property
    def token(self) -> str:
        return str(
            yaml.safe_load((self.data / "admin.kubeconfig").read_text())["users"][0]["user"][
                "token"
            ]
        )

    def manage(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*MANAGE, *arguments],
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
