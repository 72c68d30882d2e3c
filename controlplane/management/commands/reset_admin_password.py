"""manage.py reset_admin_password: a new random password for the console's superuser."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from controlplane.datadir import DataDir
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.supervisor.initialise import ADMIN, PASSWORD, set_password


class Command(PolyplaneCommand):
    help = (
        "Give the superuser admin a new random password (making the account if it is "
        "gone), end delays after failed logins, and print it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        password = set_password()
        DataDir.from_environment().file(PASSWORD).unlink(
            missing_ok=True
        )  # what it says is out of date
        self.print(options, {"user": ADMIN, "password": password}, f"{ADMIN} / {password}")
