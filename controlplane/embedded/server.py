"""One running PostgreSQL of a data directory: start, wait until it answers, stop.

Only the holder of the data directory's lock may start one. A postmaster that is still there although nobody holds the lock outlived its
supervisor (kill -9): it is stopped first. A postmaster.pid whose process is gone is PostgreSQL's to clean up: it makes sure that no backend
of the killed postmaster still has the shared memory, and start() repeats until the last one is gone. A process id that is in use again
by some other program stops PostgreSQL; it is overwritten here, and the rest of the file, which names the shared memory, stays.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg

from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded import cluster
from controlplane.embedded.privileges import Account, become
from controlplane.errors import OperatorError

_NO_PROCESS = 2**22  # one above the highest process id of Linux
_LOG_LIMIT = 10 * 2**20  # bytes; a longer log starts anew


def database_settings(data: DataDir, name: str = cluster.DATABASE) -> dict[str, Any]:
    """Django's DATABASES entry of the embedded server; known before it runs."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": cluster.USER,
        "PASSWORD": "",
        "HOST": str(data.socket_dir),
        "PORT": "5432",
        "OPTIONS": {},
    }


def accepts(data: DataDir) -> bool:
    """Whether the server answers on the socket now."""
    try:
        psycopg.connect(conninfo(database_settings(data, "postgres"), connect_timeout=2)).close()
    except psycopg.OperationalError:
        return False
    return True


class EmbeddedServer:
    """Not thread-safe: one owner starts, polls and stops it."""

    def __init__(self, data: DataDir, *, durable: bool = True) -> None:
        self.data = data
        self.durable = durable
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self, timeout: float = 120.0) -> None:
        """Returns when the server accepts connections and the database exists; ``timeout`` seconds include recovery after a crash."""
        account = cluster.prepare(self.data, durable=self.durable)
        stop_stray(self.data)
        deadline = time.monotonic() + timeout
        while not self._attempt(account, deadline):
            time.sleep(0.1)
        self._create_database()

    def _attempt(self, account: Account | None, deadline: float) -> bool:
        """False when backends of a killed postmaster are still ending."""
        log = self.data.log / "postgresql.log"
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.unlink()
        begin = log.stat().st_size if log.exists() else 0
        with log.open("ab") as out:
            self._process = subprocess.Popen(  # noqa: S603
                [str(cluster.binaries() / "postgres"), "-D", str(self.data.cluster)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd="/",
                env=cluster.environment(),
                start_new_session=True,  # Ctrl-C at the terminal reaches the supervisor, which decides the order
                preexec_fn=become(account, signal.SIGINT),
            )
        while not accepts(self.data):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                with log.open("rb") as f:
                    f.seek(begin)
                    messages = f.read().decode(errors="replace")
                if "pre-existing shared memory block" in messages and time.monotonic() < deadline:
                    return False
                raise explain_failure(self.data, messages)
            time.sleep(0.05)
        return True

    def _create_database(self) -> None:
        with psycopg.connect(conninfo(database_settings(self.data, "postgres")), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [cluster.DATABASE]).fetchone() is None:
                connection.execute(f"CREATE DATABASE {cluster.DATABASE}")

    def ended(self) -> bool:
        """Whether the process that start() made is gone."""
        return self._process is not None and self._process.poll() is not None

    def stop(self, how: signal.Signals = signal.SIGINT, timeout: float = 60.0) -> None:
        """SIGINT: fast, open transactions are rolled back. SIGTERM: waits for clients, then fast. After ``timeout`` seconds: immediate."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        for signum in dict.fromkeys((how, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)):
            process.send_signal(signum)
            try:
                process.wait(timeout)
                return
            except subprocess.TimeoutExpired:
                continue


def stop_stray(data: DataDir, timeout: float = 60.0) -> None:
    """Ends a postmaster of this cluster that nobody supervises, or takes another program's process id out of postmaster.pid."""
    pidfile = data.cluster / "postmaster.pid"
    try:
        pid = int(pidfile.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    if not _is_postmaster(pid, data.cluster):
        pidfile.write_text(re.sub(r"\A\d+", str(_NO_PROCESS), pidfile.read_text()))
        return
    deadline = time.monotonic() + timeout
    os.kill(pid, signal.SIGINT)
    while _is_postmaster(pid, data.cluster):
        if time.monotonic() > deadline:
            raise OperatorError(
                f"A PostgreSQL (process {pid}) of {data.cluster} is left from an earlier start and does not stop.",
                f"look at {data.log / 'postgresql.log'}, then end it with: kill -QUIT {pid}",
            )
        time.sleep(0.05)


def _is_postmaster(pid: int, folder: Path) -> bool:
    """Whether the process is a live postgres of that cluster (Linux: by its command line; elsewhere any live process counts)."""
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


def explain_failure(data: DataDir, log: str) -> OperatorError:
    """What the server's log says about a failed start, as an error that carries the fix."""
    where = data.log / "postgresql.log"
    if "No space left on device" in log:
        return OperatorError("PostgreSQL did not start: the disk is full.", f"free space on the disk of {data.path}, then start again.")
    if "lock file" in log and "already exists" in log:
        return OperatorError(
            f"PostgreSQL did not start: another server uses {data.cluster} or its socket.",
            f"stop the process named in {where}, or remove {data.cluster / 'postmaster.pid'} if that process is not PostgreSQL.",
        )
    last = [line for line in log.splitlines() if "FATAL" in line or "PANIC" in line or "ERROR" in line][-1:]
    reason = last[0].split(":", 3)[-1].strip() if last else "it did not answer in time"
    return OperatorError(f"PostgreSQL did not start: {reason}", f"read {where}; `make reset` starts over with an empty database.")
