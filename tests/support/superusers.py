"""Whoever may see all of the tables of the database."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client


def superuser(username: str) -> Client:
    """Logged in; of an account of its own for each file, which stays."""
    user, _ = User.objects.get_or_create(
        username=username, defaults={"is_staff": True, "is_superuser": True}
    )
    client = Client()
    client.force_login(user)
    return client
