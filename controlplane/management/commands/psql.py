"""manage.py psql [TENANT]: PostgreSQL's own client, from the package, with the right socket and
role.

Its transactions are read-only unless `--write` says otherwise. That is for slips: whoever means to
write takes it back with SET, and PostgreSQL offers no way to keep a session from that but a role of
other rights.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from django.db import connections

from controlplane.database import OWNER, conninfo
from controlplane.embedded import cluster
from controlplane.management.output import PolyplaneCommand
from controlplane.tenancy import service

_WARNING = (
    "polyplane: --write: SQL passes by the log, the audit log, counts and caches: no watch "
    "sees it, and servers may answer with what was there before"
)


class Command(PolyplaneCommand):
    help = (
        "Open psql on Polyplane's database. With a TENANT: as the workers' role, which sees the "
        "rows of that tenant only; without: as the owner of the tables, who sees all rows. "
        "Read-only unless --write is given: a guard against slips, which SET takes back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", nargs="?", default="", help="see the rows of this one only")
        parser.add_argument(
            "--write",
            action="store_true",
            help="let SQL write, by which no watch, audit entry, count or cache learns of it",
        )
        _add_passed(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        alias, sees = OWNER, "all"
        if options["tenant"]:
            alias, sees = "default", str(service.get_tenant(options["tenant"]).pk)
        settings, write = connections.settings[alias], options["write"]
        connections.close_all()
        if write:
            self.stderr.write(_WARNING)
        elif sys.stdin.isatty() and not any(map(_ends, options["passed"])):
            self.stderr.write("polyplane: this session is read-only; --write lets it write")
        read_only = "off" if write else "on"
        kept = f"-c polyplane.tenant={sees} -c default_transaction_read_only={read_only}"
        if code := _run(settings, kept, options["passed"]):
            sys.exit(code)


def _add_passed(parser: ArgumentParser) -> None:
    """psql's own options that say nothing of where it connects; in the order in which they are
    given, which counts for -c and -f."""
    for flags, text in (
        (("--csv",), "tables as CSV"),
        (("-t", "--tuples-only"), "rows alone, without heads and counts"),
        (("-A", "--no-align"), "columns as wide as what is in them"),
        (("-x", "--expanded"), "a line for each column"),
        (("-q", "--quiet"), "results alone"),
        (("-X", "--no-psqlrc"), "leave ~/.psqlrc alone"),
        (("-1", "--single-transaction"), "all of -c and -f, or nothing"),
    ):
        parser.add_argument(
            *flags, action="append_const", dest="passed", const=flags[-1], default=[], help=text
        )
    for short, long, metavar, text in (
        ("-c", "--command", "SQL", "run this and end; may be given several times"),
        ("-f", "--file", "FILE", 'run what is in it and end; "-" for standard input'),
    ):
        parser.add_argument(
            short,
            long,
            action="append",
            dest="passed",
            type=f"{long}={{}}".format,
            metavar=metavar,
            help=text,
        )


def _ends(argument: str) -> bool:
    """Whether psql ends by itself where this is given."""
    return argument.startswith(("--command=", "--file="))


def _run(settings: dict[str, Any], kept: str, arguments: list[str]) -> int:
    """psql's exit code. ``kept``: PostgreSQL's settings for the session, also after psql's own
    \\connect; among them polyplane.tenant, a tenant's number or "all", for row-level security
    (`apiserver.storage.visibility`)."""
    dsn = conninfo(
        {**settings, "PASSWORD": ""},  # where other users' `ps` does not show it
        application_name="polyplane psql",
        options=kept,
    )
    environment = {**os.environ, "PGPASSWORD": settings.get("PASSWORD") or ""}
    # Ctrl-C ends a query, not this process, which may have to stop the PostgreSQL that it started
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        command = [str(cluster.binaries() / "psql"), f"--dbname={dsn}", *arguments]
        return subprocess.run(command, env=environment).returncode  # noqa: S603
    finally:
        signal.signal(signal.SIGINT, before)
