"""A worker that still runs and does not answer is replaced, and nobody who is not connected to it
notices."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installation import Installation, alive, eventually
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

_LOOP = """
import os
import signal

def endless(*_):
    open(os.path.join(os.path.dirname(__file__), f"looping-{os.getpid()}"), "w").close()
    while True:
        pass

signal.signal(signal.SIGUSR2, endless)
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[Installation]:
    """SIGUSR2 sends any of its processes into an endless loop."""
    path: Path = tmp_path_factory.mktemp("hung")
    (path / "site").mkdir()
    (path / "site" / "sitecustomize.py").write_text(_LOOP)
    installation = Installation(path, prepared)
    installation.env |= {"PYTHONPATH": str(path / "site"), "POLYPLANE_HUNG_AFTER_SECONDS": "3"}
    installation.start()
    yield installation
    installation.stop()


class Clients:
    """Ask again and again, each time on a new connection, until they are told to stop."""

    def __init__(self, installation: Installation) -> None:
        self._installation, self._stop = installation, threading.Event()
        self.answers: list[object] = []
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(2)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _ask(self) -> None:
        while not self._stop.wait(0.02):
            try:
                self.answers.append(
                    self._installation.request("GET", "/api/v1/namespaces/default")[0]
                )
            except OSError as e:
                self.answers.append(e)


def serving(installation: Installation) -> set[int]:
    """The workers that have said so: others still start."""
    return {
        pid
        for pid in installation.below("serve --fd")
        if f"INFO {pid} polyplane.serving: worker serves" in installation.output()
    }


def hangs(installation: Installation, pid: int) -> bool:
    stopped = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return stopped or (installation.data.parent / "site" / f"looping-{pid}").exists()


@pytest.mark.parametrize(
    "signum", [signal.SIGSTOP, signal.SIGUSR2], ids=["stopped", "endless loop"]
)
def test_hung_worker_is_replaced(running: Installation, signum: signal.Signals) -> None:
    before = eventually(lambda: len(found := serving(running)) == 2 and found)
    victim = min(before)
    already = len(running.output())
    os.kill(victim, signum)
    eventually(lambda: hangs(running, victim))  # what it accepted until then ends with it
    with Clients(running) as clients:
        eventually(lambda: not alive(victim))
        eventually(lambda: len(serving(running) - before) == 1)
        asked = len(clients.answers)
        eventually(lambda: len(clients.answers) > asked + 20)
    assert set(clients.answers) == {200}
    log = running.output()[already:]
    assert re.findall(r"worker (\d+) hangs: no sign of life for ", log) == [str(victim)], (
        "the other was left alone"
    )
    assert f"worker {victim} was ended by SIGKILL" in log
    if signum == signal.SIGUSR2:
        assert "in endless" in log, "where it hung"
