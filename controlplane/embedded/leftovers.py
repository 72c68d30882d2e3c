"""What an earlier start left behind: a postmaster that nobody supervises, backends of a killed one,
lock files that name processes.

Only the holder of the data directory's lock may come here, so whatever still runs in this cluster
is nobody's. After kill -9 of the postmaster its backends notice by themselves and end, one after
the other; until the last is gone the cluster must not be started, and while the kernel has not
reaped the postmaster (it is a zombie), its process id in a lock file would make PostgreSQL refuse
to start.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from controlplane import files
from controlplane.datadir import DataDir
from controlplane.errors import OperatorError

Say = Callable[[str], None]

_NO_PROCESS = 2**22  # one above the highest process id of Linux
_POLITE = 20.0  # seconds that orphans have to end by themselves
_SILENT = 0.5  # seconds of waiting that need no line


def clear(data: DataDir, say: Say, timeout: float = 60.0) -> None:
    """Returns when no process of the cluster is left and no lock file names a living one. Raises
    OperatorError after ``timeout`` s."""
    stop_postmaster(data, timeout)
    _wait_for_orphans(data, say, timeout)
    for lock in (data.cluster / "postmaster.pid", data.socket_dir / ".s.PGSQL.5432.lock"):
        _disown(lock)


def stop_postmaster(data: DataDir, timeout: float = 60.0) -> None:
    """Ends a postmaster of this cluster that nobody supervises."""
    pid = _named_in(data.cluster / "postmaster.pid")
    if pid is None or not _is_postmaster(pid, data.cluster):
        return
    deadline = time.monotonic() + timeout
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    while _is_postmaster(pid, data.cluster):
        if time.monotonic() > deadline:
            raise OperatorError(
                f"A PostgreSQL (process {pid}) of {data.cluster} is left from an earlier start and "
                f"does not stop.",
                f"look at {data.log / 'postgresql.log'}, then end it with: kill -QUIT {pid}",
            )
        time.sleep(0.05)


def processes_of(cluster: Path) -> list[int]:
    """The processes that work in the cluster's directory, as every process of a PostgreSQL does;
    zombies have no directory. Linux; elsewhere none, and PostgreSQL's own look at its shared memory
    has to do."""
    pids = []
    folder = str(cluster.resolve())
    for cwd in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if os.readlink(cwd) == folder and _is_postgres(int(cwd.parent.name)):
                pids.append(int(cwd.parent.name))
    return pids


def _wait_for_orphans(data: DataDir, say: Say, timeout: float) -> None:
    began, told, killed = time.monotonic(), False, False
    while orphans := processes_of(data.cluster):
        waited = time.monotonic() - began
        if waited > timeout:
            raise OperatorError(
                f"Processes of the PostgreSQL that ran in {data.cluster} before do not end: "
                f"{', '.join(map(str, orphans))}.",
                f"end them, then start again: kill -9 {' '.join(map(str, orphans))}",
            )
        if waited > _SILENT and not told:
            say(f"waiting for {len(orphans)} processes of the PostgreSQL that was killed here")
            told = True
        if waited > min(_POLITE, timeout / 2) and not killed:
            # without a postmaster they can do nothing that the coming recovery would miss
            for pid in orphans:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            killed = True
        time.sleep(0.02)


def _disown(lock: Path) -> None:
    """Puts a process id that cannot exist into a lock file. The rest stays: it names the shared
    memory, at which PostgreSQL looks."""
    if _named_in(lock) is not None:
        text = re.sub(r"\A\d+", str(_NO_PROCESS), files.read_file(lock).decode())
        files.replace_file(lock, text.encode(), 0o644)  # PostgreSQL's account reads it


def _named_in(lock: Path) -> int | None:
    try:
        return int(files.read_file(lock).decode().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _is_postgres(pid: int) -> bool:
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/comm").read_text().startswith("postgres")
    return False


def _is_postmaster(pid: int, folder: Path) -> bool:
    """Whether the process is a live postgres of that cluster (Linux: by its command line; elsewhere
    any live process counts)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return not Path("/proc/self").exists()
    return os.path.basename(command[0]) == b"postgres" and os.fsencode(folder) in command
