"""Accounts of the console, and what they are answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant

Ask = Callable[..., tuple[int, dict[str, Any]]]
GROUPS = {
    "root": [],
    "ann": ["dev"],
    "looker": ["polyplane:viewers"],
    "keeper": ["polyplane:tenant-admins"],
    "owner": [],
}


@pytest.fixture(autouse=True)
def pages() -> None:
    import controlplane.urls  # noqa: F401


@pytest.fixture
def people(postgres: str) -> dict[str, User]:
    """By name; ``owner`` owns tenant `pages-owned`."""
    for name in ("pages-owned", "pages-other", service.DEFAULT):
        service.ensure_tenant(name)
    owners = ["User:owner"]
    Tenant.objects.filter(name="pages-owned").update(owners=owners, bound_owners=owners)
    made = {}
    for name, groups in GROUPS.items():
        account, _ = User.objects.get_or_create(username=name)
        account.is_staff, account.is_active = True, True
        account.is_superuser = name == "root"
        account.save()
        account.groups.set([Group.objects.get_or_create(name=g)[0] for g in groups])
        made[name] = account
    return made


@pytest.fixture
def ask(people: dict[str, User]) -> Ask:
    clients: dict[str, Client] = {}

    def asked(who: str, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        if who not in clients:
            clients[who] = Client()
            if who:
                clients[who].force_login(people[who])
        answer = clients[who].generic(
            method,
            f"/admin/console/facts/{path}",
            b"" if body is None else json.dumps(body),
            "application/json",
            secure=True,
        )
        return answer.status_code, answer.json()

    return asked
