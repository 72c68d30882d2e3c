"""manage.py reset: remove what this clone keeps on disk."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.datadir import DataDir
from controlplane.embedded.leftovers import stop_postmaster
from controlplane.errors import OperatorError


class Command(BaseCommand):
    help = (
        "Remove the data directory: embedded database, keys, certificates, kubeconfig. A "
        "database in DATABASE_URL is not touched."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        data = DataDir.from_environment()
        if not data.path.exists():
            self.stdout.write(f"{data.path} is not there; nothing to remove")
            return
        lock = data.try_lock()
        if lock is None:
            raise OperatorError(
                f"Polyplane runs on {data.path} (process {data.lock_holder()}).",
                f"stop it first: kill {data.lock_holder()}",
            )
        if not options["yes"]:
            _ask(data.path)
        stop_postmaster(data)
        for path in (data.cluster, data.socket_dir, data.path):
            if path.exists():
                self.stdout.write(f"removing {path}")
                shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
        if data.path.exists():
            raise OperatorError(
                f"{data.path} could not be removed whole.", "remove it as the user who made it."
            )
        self.stdout.write(f"{data.path} removed")


def _ask(path: Path) -> None:
    """Raises OperatorError unless somebody at a terminal types yes."""
    if not sys.stdin.isatty():
        raise OperatorError(
            f"{path} holds all tenants, keys and passwords; nobody is here to confirm its removal.",
            "say --yes (make reset YES=1).",
        )
    sys.stderr.write(
        f"This removes {path}: every tenant's objects, all keys, tokens and passwords.\nType yes "
        f"to go on: "
    )
    if sys.stdin.readline().strip() != "yes":
        raise OperatorError("Nothing was removed.", "type yes to remove it.")
