"""manage.py psql [TENANT]: PostgreSQL's own client, from the package, with the right socket and
role."""

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


class Command(PolyplaneCommand):
    help = (
        "Open psql on Polyplane's database. With a TENANT: as the workers' role, which sees the "
        "rows of that tenant only; without: as the owner of the tables, who sees all rows."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", nargs="?", default="", help="see the rows of this one only")
        parser.add_argument(
            "-c",
            "--command",
            action="append",
            default=[],
            metavar="SQL",
            help="run this and end; may be given several times",
        )
        parser.add_argument("--csv", action="store_true", help="tables as CSV")

    def handle(self, *args: Any, **options: Any) -> None:
        alias, sees = OWNER, "all"
        if options["tenant"]:
            alias, sees = "default", str(service.get_tenant(options["tenant"]).pk)
        flags = ["--csv"] if options["csv"] else []
        commands = [f"--command={sql}" for sql in options["command"]]
        settings = connections.settings[alias]
        connections.close_all()
        if code := _run(settings, sees, [*flags, *commands]):
            sys.exit(code)


def _run(settings: dict[str, Any], sees: str, arguments: list[str]) -> int:
    """psql's exit code. ``sees``: a tenant's number or "all", for row-level security
    (`apiserver.storage.visibility`)."""
    dsn = conninfo(
        {**settings, "PASSWORD": ""},  # where other users' `ps` does not show it
        application_name="polyplane psql",
        options=f"-c polyplane.tenant={sees}",
    )
    environment = {**os.environ, "PGPASSWORD": settings.get("PASSWORD") or ""}
    # Ctrl-C ends a query, not this process, which may have to stop the PostgreSQL that it started
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        command = [str(cluster.binaries() / "psql"), f"--dbname={dsn}", *arguments]
        return subprocess.run(command, env=environment).returncode  # noqa: S603
    finally:
        signal.signal(signal.SIGINT, before)
