"""A whole installation with two workers, through its HTTP API: what one worker writes all watchers
see; killing a worker or PostgreSQL under load loses no write that was acknowledged, and the server
serves again by itself."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.installation import Installation, alive, eventually
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

WRITERS = 6


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("robust"), prepared)
    made.start()
    yield made
    made.stop()


def worker_of(installation: Installation, connection: http.client.HTTPSConnection) -> int:
    """The worker at the other end: of the connections to the server's port, the process that holds
    the one from our port."""
    ours = connection.sock.getsockname()[1]
    wanted = f"{installation.port:04X}", f"{ours:04X}"
    inode = next(
        f[9]
        for f in (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        if (f[1][-4:], f[2][-4:]) == wanted
    )
    for pid in installation.below("serve --fd"):
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.readlink(fd) == f"socket:[{inode}]":
                    return pid
    raise AssertionError("no worker holds the connection")


class Connection:
    """A kept connection, and which worker serves it."""

    def __init__(self, installation: Installation) -> None:
        self.headers = {
            "Authorization": f"Bearer {installation.token}",
            "Content-Type": "application/json",
        }
        self.connection = installation.connect()
        self.connection.connect()
        self.request("GET", "/version")
        self.worker = worker_of(installation, self.connection)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        self.connection.request(
            method, path, None if body is None else json.dumps(body), self.headers
        )
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def watch(self, path: str) -> http.client.HTTPResponse:
        self.connection.request("GET", path, None, self.headers)
        answer = self.connection.getresponse()
        assert answer.status == 200
        return answer


def on_all_workers(installation: Installation) -> dict[int, Connection]:
    """One connection to each worker; the kernel chooses who accepts, so several tries."""
    found: dict[int, Connection] = {}
    for _ in range(200):
        made = Connection(installation)
        if found.setdefault(made.worker, made) is not made:
            made.connection.close()
        if len(found) == 2:
            return found
    raise AssertionError(f"200 connections all went to {found.keys()}")


def test_a_write_through_one_worker_is_seen_by_watchers_of_both(installation: Installation) -> None:
    root = "/api/v1/namespaces/default/configmaps"
    head = installation.request("GET", root)[1]["metadata"]["resourceVersion"]
    writers, readers = on_all_workers(installation), on_all_workers(installation)
    watches = {
        worker: reader.watch(f"{root}?watch=true&resourceVersion={head}")
        for worker, reader in readers.items()
    }
    assert len(writers) > 1
    written = []
    for i in range(20):
        for worker, writer in writers.items():
            status, made = writer.request("POST", root, {"metadata": {"name": f"by-{worker}-{i}"}})
            assert status == 201
            written.append((made["metadata"]["name"], made["metadata"]["resourceVersion"]))
            for watch in watches.values():
                seen = json.loads(watch.readline())
                while not seen["object"]["metadata"]["name"].startswith("by-"):
                    seen = json.loads(watch.readline())  # the namespace's own ConfigMap
                assert seen["type"] == "ADDED"
                assert (
                    seen["object"]["metadata"]["name"],
                    seen["object"]["metadata"]["resourceVersion"],
                ) == written[-1]
    for connection in (*writers.values(), *readers.values()):
        connection.connection.close()


class Load:
    """Writers that create objects and remember what they were told; a lost connection is taken up
    again."""

    def __init__(self, installation: Installation, prefix: str) -> None:
        self.installation = installation
        self.prefix = prefix
        self.acknowledged: dict[str, int] = {}
        self.refused: list[int] = []
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(i,), daemon=True) for i in range(WRITERS)
        ]

    def _run(self, writer: int) -> None:
        count = 0
        connection = self.installation.connect()
        headers = {
            "Authorization": f"Bearer {self.installation.token}",
            "Content-Type": "application/json",
        }
        while not self._stop.is_set():
            name = f"{self.prefix}-{writer}-{count}"
            count += 1
            try:
                connection.request(
                    "POST",
                    "/api/v1/namespaces/default/configmaps",
                    json.dumps({"metadata": {"name": name}}),
                    headers,
                )
                answer = connection.getresponse()
                status, body = answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                connection.close()  # the next request opens it anew
                time.sleep(0.05)
                continue
            if status == 201:
                self.acknowledged[name] = int(body["metadata"]["resourceVersion"])
            else:
                self.refused.append(status)
                time.sleep(0.05)
        connection.close()

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        eventually(lambda: len(self.acknowledged) > 50)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def goes_on(self) -> None:
        """Waits until each writer could have been answered again."""
        so_far = len(self.acknowledged)
        eventually(lambda: len(self.acknowledged) > so_far + 100)

    def check(self) -> None:
        """Every acknowledged object is there, under the version that was told, and no version was
        given twice."""
        status, found = self.installation.request("GET", "/api/v1/namespaces/default/configmaps")
        assert status == 200
        there = {
            o["metadata"]["name"]: int(o["metadata"]["resourceVersion"]) for o in found["items"]
        }
        assert self.acknowledged.items() <= there.items(), self.acknowledged.items() - there.items()
        assert len(set(there.values())) == len(there)
        assert set(self.refused) <= {500, 503, 504}, "what could not be done is said so"


@pytest.mark.parametrize("round_", range(2))
def test_killing_a_worker_under_load_loses_nothing(installation: Installation, round_: int) -> None:
    with Load(installation, f"worker-{round_}") as load:
        before = set(installation.below("serve --fd"))
        victim = sorted(before)[round_]
        os.kill(victim, signal.SIGKILL)
        load.goes_on()
        eventually(lambda: len(set(installation.below("serve --fd")) - {victim}) == 2)
        load.goes_on()
    load.check()


@pytest.mark.parametrize("round_", range(2))
def test_killing_postgresql_under_load_loses_nothing(
    installation: Installation, round_: int
) -> None:
    root = "/api/v1/namespaces/default/configmaps"
    head = installation.request("GET", root)[1]["metadata"]["resourceVersion"]
    with Load(installation, f"postgres-{round_}") as load:
        postmaster = installation.below("postgres -D")[0]
        for pid in [p for p in installation.below("postgres") if p != postmaster]:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        os.kill(postmaster, signal.SIGKILL)
        eventually(lambda: not alive(postmaster) and installation.below("postgres -D"))
        load.goes_on()
    load.check()
    reader = Connection(installation)
    watch = reader.watch(f"{root}?watch=true&resourceVersion={head}&timeoutSeconds=600")
    left, last = dict(load.acknowledged), int(head)
    while left:
        event = json.loads(watch.readline())
        version = int(event["object"]["metadata"]["resourceVersion"])
        assert version > last, "in order, none doubled"
        last = version
        left.pop(event["object"]["metadata"]["name"], None)
    reader.connection.close()
