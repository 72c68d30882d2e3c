"""One scrape answers for all workers of the machine.

Each worker listens on a socket in a directory that the supervisor has made, and tells what it has
counted to whichever worker is scraped; nothing is done per request. Before it tells, it writes the
same into a file: when it dies, whatever a scrape has ever shown of it stays in the sums, and no
counter goes back. Files of the dead are added up into one. A worker that does not answer in time
counts with its last file.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from apiserver.endpoints.metric_types import Snapshot, add_up

_TIMEOUT = 1.0  # seconds for a worker to answer
_LARGEST = 64 * 1024 * 1024  # bytes of an answer
_REMEMBERED = 200
"""Lives of workers that have been added up, so that none is added twice. Process ids come again,
lives do not."""

EVERYTHING = 0
"""The number under which the installation is asked for; tenants have theirs."""


class Peers:
    """directory: shared by the workers of this machine; snapshot: what this one has counted for the
    installation or a tenant."""

    def __init__(self, directory: Path, snapshot: Callable[[int], Snapshot]) -> None:
        self._directory, self._snapshot = directory, snapshot
        self._name = f"w{os.getpid()}"
        self._life = f"{self._name}-{time.time_ns()}"
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._set_aside()
        path = self._directory / f"{self._name}.sock"
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._answer, path)

    def _set_aside(self) -> None:
        """What a dead worker has left that had the same process id."""
        with _locked(self._directory / "lock"):
            for left in self._directory.glob(f"{self._name}.*.json"):
                left.rename(self._file(self._life, int(left.name.split(".")[1])))

    async def stop(self) -> None:
        """What was asked for before is left as it is now."""
        if self._server is not None:
            self._server.close()
        for path in self._directory.glob(f"{self._name}.*.json"):
            self._keep(int(path.name.split(".")[1]))
        (self._directory / f"{self._name}.sock").unlink(missing_ok=True)

    async def counted(self, number: int) -> tuple[Snapshot, Sequence[Snapshot]]:
        """What this worker has counted, and what others have, and those that are gone. More than
        that is not to be shown: it is what outlives the worker."""
        own = self._keep(number)
        names = [path.stem for path in self._directory.glob("*.sock") if path.stem != self._name]
        answers = await asyncio.gather(*(self._ask(name, number) for name in names))
        alive = {name for name, answer in zip(names, answers, strict=True) if answer is not None}
        gone = await asyncio.to_thread(self._gone, number, {*alive, self._name})
        return own, [*gone, *(answer for answer in answers if answer is not None)]

    async def _ask(self, name: str, number: int) -> Snapshot | None:
        """None from one that is gone."""
        try:
            return await ask(self._directory / f"{name}.sock", number)
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        except (OSError, orjson.JSONDecodeError):
            kept: Snapshot = _read(self._file(name, number)).get("counted", {})
            return kept

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, ValueError):
            async with asyncio.timeout(_TIMEOUT):
                counted = self._keep(int(await reader.readline()))
                writer.write(orjson.dumps(counted))
                await writer.drain()

    def _file(self, name: str, number: int) -> Path:
        return self._directory / f"{name}.{number}.json"

    def _keep(self, number: int) -> Snapshot:
        counted = self._snapshot(number)
        _write(self._file(self._name, number), {"counted": counted, "life": self._life})
        return counted

    def _gone(self, number: int, alive: Collection[str]) -> list[Snapshot]:
        """Adds up what the dead have left."""
        with _locked(self._directory / "lock"):
            total_at = self._file("gone", number)
            total = _read(total_at)
            counted, added = total.get("counted", {}), total.get("added", [])
            left = {
                path.name.split(".")[0]: path for path in self._directory.glob(f"w*.{number}.json")
            }
            dead = {name: path for name, path in left.items() if name not in alive}
            if dead:
                lives = {last["life"]: last["counted"] for last in map(_read, dead.values())}
                new = [counts for life, counts in lives.items() if life not in added]
                counted = add_up([counted, *new])
                added = [*added, *lives][-_REMEMBERED:]
                _write(total_at, {"counted": counted, "added": added})
                for path in dead.values():
                    path.unlink()
            return [counted]


async def ask(socket: Path, number: int) -> Snapshot:
    """What the worker of a socket has counted. Raises OSError, also of one that does not answer in
    time, and JSONDecodeError."""
    async with asyncio.timeout(_TIMEOUT):
        reader, writer = await asyncio.open_unix_connection(socket, limit=_LARGEST)
        with contextlib.closing(writer):
            writer.write(b"%d\n" % number)
            answer: Snapshot = orjson.loads(await reader.read())
            return answer


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read(path: Path) -> dict[str, Any]:
    try:
        sums: dict[str, Any] = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return sums


def _write(path: Path, value: dict[str, Any]) -> None:
    """Whole or not at all."""
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.write_bytes(orjson.dumps(value))
    draft.replace(path)
