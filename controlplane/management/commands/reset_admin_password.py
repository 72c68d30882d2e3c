"""manage.py reset_admin_password: a new random password for the console's superuser."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand

from controlplane.supervisor.initialise import ADMIN


class Command(BaseCommand):
    help = "Give the superuser admin a new random password (making the account if it is gone) and print it once."

    def handle(self, *args: Any, **options: Any) -> None:
        password = secrets.token_urlsafe(15)
        user, _ = User.objects.get_or_create(username=ADMIN)
        user.is_active = user.is_staff = user.is_superuser = True
        user.set_password(password)
        user.save()
        self.stdout.write(f"{ADMIN} / {password}")
