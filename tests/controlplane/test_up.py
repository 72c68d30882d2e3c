"""`manage.py up` as an operator meets it: real processes, real signals, one installation for the whole module."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parent.parent.parent
MANAGE = [sys.executable, str(REPOSITORY / "manage.py")]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def eventually(what: Callable[[], Any], within: float = 30.0) -> Any:
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
    """A data directory, a port, and at most one running supervisor."""

    def __init__(self, path: Path) -> None:
        self.data = path / "data"
        self.port = free_port()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("POLYPLANE_", "DATABASE_URL"))}
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
            self.process = subprocess.Popen([*MANAGE, "up"], env=self.env, stdout=out, stderr=subprocess.STDOUT, text=True)
        if ready:
            eventually(lambda: "Ctrl-C stops it" in self.output() or self.process.poll() is not None, 90)
            assert self.process.poll() is None, self.output()

    def output(self) -> str:
        return self.log.read_text()

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(signum)
        return self.process.wait(60)

    def below(self, word: str) -> list[int]:
        """Direct and indirect children whose command line has the word."""
        assert self.process is not None
        found = []
        for pid in descendants(self.process.pid):
            with suppress(OSError):
                if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "):
                    found.append(pid)
        return found

    def connect(self, timeout: float = 10.0) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.data / "ca.crt"))
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=timeout)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = self.connect()
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()
        finally:
            connection.close()

    @property
    def token(self) -> str:
        return str(yaml.safe_load((self.data / "admin.kubeconfig").read_text())["users"][0]["user"]["token"])

    def manage(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*MANAGE, *arguments], env=self.env | env, capture_output=True, text=True, timeout=90)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Started once, so that the first start is behind it; its output stays in ``first_output``."""
    installation = Installation(tmp_path_factory.mktemp("up"))
    installation.start()
    installation.first_output = installation.output()  # type: ignore[attr-defined]
    yield installation
    if installation.process is not None and installation.process.poll() is None:
        installation.stop()


@pytest.fixture
def running(made: Installation) -> Installation:
    if made.process is None or made.process.poll() is not None:
        made.start()
    return made


def test_first_start_shows_the_login_once_and_seeds_two_worlds(running: Installation) -> None:
    first = running.first_output  # type: ignore[attr-defined]
    assert re.search(r"admin / \S{20}", first)
    config = yaml.safe_load((running.data / "admin.kubeconfig").read_text())
    assert [c["name"] for c in config["contexts"]] == ["default", "demo"]
    assert running.request("GET", "/api/v1/namespaces/shop")[0] == 404
    assert running.request("GET", "/clusters/demo/api/v1/namespaces/shop")[0] == 200


def test_demo_has_an_owner_chain_and_an_object_that_waits_on_a_finalizer(running: Installation) -> None:
    root = "/clusters/demo/api/v1/namespaces/shop"
    database, login = (running.request("GET", f"{root}/{p}")[1] for p in ("configmaps/database", "secrets/database-login"))
    address, stuck = (running.request("GET", f"{root}/configmaps/{p}")[1] for p in ("database-address", "old-bucket"))
    assert login["metadata"]["ownerReferences"][0]["uid"] == database["metadata"]["uid"]
    assert address["metadata"]["ownerReferences"][0]["uid"] == login["metadata"]["uid"]
    assert stuck["metadata"]["deletionTimestamp"] and stuck["metadata"]["finalizers"]


def test_files_are_closed_to_others(running: Installation) -> None:
    modes = {name: (running.data / name).stat().st_mode & 0o777 for name in ("admin.kubeconfig", "ca.key", "tls.key", "secret.key")}
    assert set(modes.values()) == {0o600}
    assert running.data.stat().st_mode & 0o777 == 0o700


def test_second_supervisor_on_the_same_data_directory_names_the_first(running: Installation) -> None:
    assert running.process is not None
    second = running.manage("up", POLYPLANE_PORT=str(free_port()))
    assert second.returncode == 1
    assert f"already runs on {running.data} (process {running.process.pid})" in second.stderr


def test_taken_port_names_its_owner_and_a_way_out(running: Installation, tmp_path: Path) -> None:
    began = time.monotonic()
    other = running.manage("up", POLYPLANE_DATA_DIR=str(tmp_path / "other"))
    assert other.returncode == 1
    assert f"Port {running.port} on 127.0.0.1 is taken by process" in other.stderr
    assert f"POLYPLANE_PORT={running.port + 1}" in other.stderr
    assert time.monotonic() - began < 30


def test_killed_worker_is_replaced_and_acknowledged_writes_stay(running: Installation) -> None:
    code, _ = running.request("POST", "/api/v1/namespaces", {"metadata": {"name": "before-the-kill"}})
    assert code == 201
    before = set(running.below("serve --fd"))
    os.kill(next(iter(before)), signal.SIGKILL)
    eventually(lambda: len(running.below("serve --fd")) == 2 and set(running.below("serve --fd")) != before)
    assert eventually(lambda: running.request("GET", "/api/v1/namespaces/before-the-kill")[0] == 200)


def test_killed_postgresql_comes_back_by_itself(running: Installation) -> None:
    postmaster = running.below("postgres -D")[0]
    os.kill(postmaster, signal.SIGKILL)
    eventually(lambda: running.below("postgres -D") and not alive(postmaster))
    assert eventually(lambda: running.request("POST", "/api/v1/namespaces", {"metadata": {"generateName": "after-"}})[0] == 201)
    assert running.request("GET", "/api/v1/namespaces/before-the-kill")[0] == 200


def test_sigterm_ends_open_watches_and_every_process(running: Installation) -> None:
    assert running.process is not None
    connection = running.connect(timeout=30)
    connection.request("GET", "/api/v1/namespaces?watch=true", headers={"Authorization": f"Bearer {running.token}"})
    watch = connection.getresponse()
    assert watch.readline()
    children = descendants(running.process.pid)
    began = time.monotonic()
    assert running.stop() == 0
    assert time.monotonic() - began < 5 + 5
    rest = watch.read()  # a complete chunked body: the stream was ended, not cut
    assert rest == b"" or rest.endswith(b"\n")
    connection.close()
    assert not [pid for pid in children if alive(pid)]


def test_second_start_is_quick_and_says_so(made: Installation) -> None:
    if made.process is not None and made.process.poll() is None:
        made.stop()
    began = time.monotonic()
    made.start()
    assert "already initialised" in made.output()
    assert "admin /" not in made.output()
    assert time.monotonic() - began < 30


def test_killed_supervisor_takes_all_along_and_the_next_start_works(running: Installation) -> None:
    assert running.process is not None
    children = descendants(running.process.pid)
    assert len(children) >= 3
    running.process.kill()
    running.process.wait()
    running.start()
    assert not [pid for pid in children if alive(pid)]
    assert running.request("GET", "/api/v1/namespaces/before-the-kill")[0] == 200


def test_signal_during_the_start_stops_cleanly(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.start(ready=False)
    eventually(lambda: "starting PostgreSQL" in installation.output())
    assert installation.stop(signal.SIGINT) == 0
    assert "stopped" in installation.output()
    assert not (installation.data / "postgres" / "postmaster.pid").exists()


def test_unreachable_database_is_named_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://someone:hunter2@127.0.0.1:{free_port()}/nothing"
    done = Installation(tmp_path).manage("up", DATABASE_URL=url)
    assert done.returncode == 1
    assert "cannot be reached" in done.stderr and "DATABASE_URL" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout
