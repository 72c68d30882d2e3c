"""What somebody may know of himself: his account, roles, and sessions in other browsers."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest

from apiserver.platformroles import ROLES
from controlplane import accounts
from controlplane.console.facts import sessionpages
from controlplane.console.facts.asking import Answer, asked


@asked("GET")
def me(account: User, request: HttpRequest) -> Answer:
    held = sorted(ROLES) if account.is_superuser else accounts.roles_of(account)
    return {
        "name": account.get_username(),
        "uid": accounts.api_uid(account),
        "groups": accounts.api_groups(account),
        "superuser": account.is_superuser,
        "roles": [{"name": role, "meaning": ROLES[role]} for role in held],
        "joined": account.date_joined.isoformat(),
        "lastLogin": account.last_login.isoformat() if account.last_login else None,
        "password": account.has_usable_password(),
        "sessions": sessionpages.own(account, request),
    }
