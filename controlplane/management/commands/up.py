"""manage.py up: what `make run` calls."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.supervisor.supervisor import Supervisor, stop_with_parent


class Command(BaseCommand):
    help = (
        "Prepare everything that is missing, then run PostgreSQL and the workers in the foreground."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--with-parent", action="store_true", help="stop when the parent process ends (Linux)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["with_parent"]:
            stop_with_parent()
        Supervisor().run()
