"""Starts everything in order, then watches over it.

Order: port → data directory and lock → PostgreSQL → migrations → certificates → first start →
workers → demo objects → banner. Stopping goes the other way: workers first, so that their last
writes find a database. A supervisor that is killed takes its children along (the kernel signals
them), and the lock ends with it.
"""

from __future__ import annotations

import os
import signal
import ssl
import sys
import threading
import time
from contextlib import ExitStack
from types import FrameType

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections

from controlplane import certificates, environment
from controlplane.bootstrap import load_demo
from controlplane.checks import check_database
from controlplane.database import verify
from controlplane.datadir import DataDir
from controlplane.embedded.server import EmbeddedServer
from controlplane.errors import OperatorError
from controlplane.supervisor.banner import banner, login_line
from controlplane.supervisor.initialise import finish_first_start, initialise
from controlplane.supervisor.listener import bind, bind_tenants, listen
from controlplane.supervisor.readiness import client_context, is_ready
from controlplane.supervisor.workers import Workers

_READY_WITHIN = 90.0  # seconds
_RENEWED_EVERY = 3600.0
"""Seconds from one look at the certificate's end to the next."""


class Supervisor:
    """One `run` per process, on the main thread."""

    def __init__(self) -> None:
        self.data = DataDir.from_environment()
        self.server = (
            None if settings.POLYPLANE_DATABASE_URL else EmbeddedServer(self.data, say=say)
        )
        self.host, self.port = settings.POLYPLANE_BIND, settings.POLYPLANE_PORT
        self.workers: Workers | None = None
        self._stop = threading.Event()
        self._database_due, self._database_failures = 0.0, 0
        self._renewal_due = time.monotonic() + _RENEWED_EVERY

    def run(self) -> None:
        """Returns after SIGTERM or SIGINT, when everything is stopped. Raises OperatorError when
        the start fails."""
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:  # nohup
                signal.signal(signum, self._told_to_stop)
        with ExitStack() as cleanup:
            try:
                self._start(cleanup)
                self._watch()
            except _Stopped:
                pass
            say("stopping")
        say("stopped")

    def _told_to_stop(self, signum: int, frame: FrameType | None) -> None:
        """During the start the signal breaks in; later the loop sees it. A second one is
        harmless."""
        first = not self._stop.is_set()
        self._stop.set()
        if first and self.workers is None:
            raise _Stopped

    def _start(self, cleanup: ExitStack) -> None:
        base, host = base_url(), local_address()
        self._take_data_directory()
        listener = cleanup.enter_context(bind(self.host, self.port))
        of_tenants = bind_tenants(self.host, environment.tenant_ports())
        for bound in of_tenants.values():
            cleanup.enter_context(bound)
        self._start_database(cleanup)
        say("migrating the database")
        call_command("migrate", verbosity=0, interactive=False)
        files = certificates.ensure(self.data)
        done = initialise(self.data, base, files.ca)
        connections.close_all()
        count = environment.default_workers()
        say(f"starting {count} worker{'' if count == 1 else 's'}")
        for bound in (listener, *of_tenants.values()):
            listen(bound)
        self.workers = Workers(
            listener,
            count,
            environment.number("HUNG_AFTER_SECONDS", 6),
            of_tenants,
        )
        cleanup.callback(
            self.workers.stop,
            environment.number("SHUTDOWN_SECONDS", 10)
            + environment.number("SHUTDOWN_DELAY_SECONDS", 0)
            + 5,
        )
        self.workers.start()
        self._wait_ready(host, client_context(files))
        if done.first:
            load_demo(base, client_context(files), done.kubeconfig)
        login = login_line(done, self.data, terminal=sys.stdout.isatty())
        sys.stdout.write(banner(done, base, self.workers.count, login))
        sys.stdout.flush()
        finish_first_start(self.data)

    def _take_data_directory(self) -> None:
        self.data.create()
        if self.data.try_lock() is None:
            holder = self.data.lock_holder()
            raise OperatorError(
                f"Polyplane already runs on {self.data.path} (process {holder}).",
                f"stop it first: kill {holder}",
            )

    def _start_database(self, cleanup: ExitStack) -> None:
        if self.server is None:
            for database in settings.DATABASES.values():
                verify(database)
            for message in check_database([DEFAULT_DB_ALIAS]):
                if message.id == "polyplane.W004":
                    say(f"warning: {message.msg}\n  fix: {message.hint}")
            return
        say(f"starting PostgreSQL in {self.data.cluster}")
        cleanup.callback(self.server.stop)
        self.server.start()

    def _wait_ready(self, host: str, context: ssl.SSLContext) -> None:
        assert self.workers is not None
        deadline = time.monotonic() + _READY_WITHIN
        while not is_ready(host, self.port, context):
            self._tend()
            if self._stop.is_set():
                raise _Stopped
            if self.workers.failing or time.monotonic() > deadline:
                raise OperatorError(
                    "The workers do not become ready.",
                    "their messages are above; `manage.py serve` starts one alone.",
                )
            self._stop.wait(0.2)

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            self._tend()

    def _tend(self) -> None:
        assert self.workers is not None
        for line in self.workers.tend():
            say(line)
        if (
            self.server is not None
            and self.server.ended()
            and time.monotonic() >= self._database_due
        ):
            self._restart_database(self.server)
        if time.monotonic() >= self._renewal_due:
            self._renew()

    def _renew(self) -> None:
        self._renewal_due = time.monotonic() + _RENEWED_EVERY
        try:
            if certificates.renew(self.data):
                say("the certificate would have ended; there is a new one")
        except (OSError, OperatorError, ValueError) as e:
            say(f"the certificate cannot be renewed: {e}")

    def _restart_database(self, server: EmbeddedServer) -> None:
        say("PostgreSQL ended; starting it again")
        try:
            server.start()
            self._database_failures = 0
            say("PostgreSQL runs again")
        except OperatorError as e:
            self._database_failures += 1
            pause = min(2.0**self._database_failures, 30.0)
            self._database_due = time.monotonic() + pause
            say(f"{e}\n  trying again in {pause:.0f} s")


def local_address() -> str:
    """The listener's address as this machine reaches it."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(  # noqa: S104
        settings.POLYPLANE_BIND, settings.POLYPLANE_BIND
    )


def base_url() -> str:
    """The server's address for clients on this machine."""
    host = local_address()
    return f"https://{f'[{host}]' if ':' in host else host}:{settings.POLYPLANE_PORT}"


class _Stopped(Exception):
    """A signal asked to stop."""


def say(line: str) -> None:
    sys.stderr.write(f"polyplane: {line}\n")
    sys.stderr.flush()


def stop_with_parent() -> None:
    """Linux: when the parent (make) is killed, this supervisor stops as if by SIGTERM."""
    from controlplane.privileges import die_with_parent

    parent = os.getppid()
    die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
