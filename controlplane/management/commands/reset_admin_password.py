"""manage.py reset_admin_password: a new random password for the console's superuser."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from controlplane.supervisor.initialise import ADMIN, set_password


class Command(BaseCommand):
    help = "Give the superuser admin a new random password (making the account if it is gone) and print it once."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{ADMIN} / {set_password()}")
