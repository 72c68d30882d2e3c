"""One running PostgreSQL of a data directory: start, wait until it answers, stop.

Only the holder of the data directory's lock may start one. What an earlier start left behind (kill
-9) is cleared away first (leftovers.py). PostgreSQL makes sure by itself that no backend of a
killed postmaster still has the shared memory; where leftovers.py cannot see processes (no /proc),
start() repeats until the last one is gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Any

import psycopg

from controlplane import files
from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded import cluster, leftovers, roles
from controlplane.errors import OperatorError
from controlplane.privileges import Account, become

_LOG_LIMIT = 10 * 2**20  # bytes; a longer log starts anew


def database_settings(
    data: DataDir, name: str = roles.DATABASE, user: str = roles.OWNER
) -> dict[str, Any]:
    """Django's DATABASES entry of the embedded server; known before it runs."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": user,
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
    """Not thread-safe: one owner starts, polls and stops it. say: gets a line when a start has to
    wait for something."""

    def __init__(
        self, data: DataDir, *, durable: bool = True, say: leftovers.Say = lambda _: None
    ) -> None:
        self.data = data
        self.durable = durable
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self, timeout: float = 120.0) -> None:
        """Returns when the server accepts connections and the database exists; ``timeout`` seconds
        include recovery after a crash."""
        account = cluster.prepare(self.data, durable=self.durable)
        leftovers.clear(self.data, self._say)
        deadline = time.monotonic() + timeout
        while not self._attempt(account, deadline):
            time.sleep(0.1)
        self._prepare_database()

    def _attempt(self, account: Account | None, deadline: float) -> bool:
        """False when backends of a killed postmaster are still ending."""
        log = self.data.log / "postgresql.log"
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.unlink()
        begin = log.stat().st_size if log.exists() else 0
        with os.fdopen(files.open_file(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as out:
            self._process = subprocess.Popen(  # noqa: S603
                [str(cluster.binaries() / "postgres"), "-D", str(self.data.cluster)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd="/",
                env=cluster.environment(),
                # Ctrl-C at the terminal reaches the supervisor, which decides the order
                start_new_session=True,
                preexec_fn=become(account, signal.SIGINT),
            )
        while not accepts(self.data):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                messages = files.read_file(log)[begin:].decode(errors="replace")
                if "pre-existing shared memory block" in messages and time.monotonic() < deadline:
                    return False
                raise explain_failure(self.data, messages)
            time.sleep(0.05)
        return True

    def _prepare_database(self) -> None:
        with psycopg.connect(
            conninfo(database_settings(self.data, "postgres")), autocommit=True
        ) as connection:
            roles.prepare_database(connection)
        with psycopg.connect(conninfo(database_settings(self.data)), autocommit=True) as connection:
            roles.harden(connection)

    def ended(self) -> bool:
        """Whether the process that start() made is gone."""
        return self._process is not None and self._process.poll() is not None

    def stop(self, how: signal.Signals = signal.SIGINT, timeout: float = 60.0) -> None:
        """SIGINT: fast, open transactions are rolled back. SIGTERM: waits for clients, then fast.
        After ``timeout`` seconds: immediate."""
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


def explain_failure(data: DataDir, log: str) -> OperatorError:
    """What the server's log says about a failed start, as an error that carries the fix."""
    where = data.log / "postgresql.log"
    if "No space left on device" in log:
        return OperatorError(
            "PostgreSQL did not start: the disk is full.",
            f"free space on the disk of {data.path}, then start again.",
        )
    if "lock file" in log and "already exists" in log:
        return OperatorError(
            f"PostgreSQL did not start: another server uses {data.cluster} or its socket.",
            f"stop the process named in {where}, or remove {data.cluster / 'postmaster.pid'} if "
            f"that process is not PostgreSQL.",
        )
    last = [
        line for line in log.splitlines() if "FATAL" in line or "PANIC" in line or "ERROR" in line
    ][-1:]
    reason = last[0].split(":", 3)[-1].strip() if last else "it did not answer in time"
    return OperatorError(
        f"PostgreSQL did not start: {reason}",
        f"read {where}; `make reset` starts over with an empty database.",
    )
