"""manage.py role list|grant|revoke: platform roles of console accounts."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User

from apiserver.platformroles import ROLES
from controlplane import accounts
from controlplane.management.output import PolyplaneCommand, add_actions, add_output, visible


class Command(PolyplaneCommand):
    help = (
        "What console accounts may do with the whole installation, apart from tenants' RBAC: "
        + "; ".join(f"{name} {what}" for name, what in ROLES.items())
        + ". Superusers may do all of it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = add_actions(parser)
        listing = actions.add_parser("list", help="all accounts with their roles")
        grant = actions.add_parser("grant", help="give a role to an account")
        revoke = actions.add_parser("revoke", help="take it away; tokens lose it in two seconds")
        for action in (grant, revoke):
            action.add_argument("account")
            action.add_argument("role", choices=sorted(ROLES))
        for action in (listing, grant, revoke):
            add_output(action)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "list":
            users = list(User.objects.order_by("username"))
        else:
            users = [accounts.get(options["account"])]
            change = accounts.grant if options["action"] == "grant" else accounts.revoke
            change(users[0], options["role"])
        described = [_described(account) for account in users]
        value = described if options["action"] == "list" else described[0]
        self.print(options, value, lambda: "\n".join(_row(one) for one in described))


def _described(account: User) -> dict[str, Any]:
    return {
        "account": account.username,
        "active": account.is_active,
        "superuser": account.is_superuser,
        "roles": accounts.roles_of(account),
    }


def _row(one: dict[str, Any]) -> str:
    roles = "all (superuser)" if one["superuser"] else ", ".join(one["roles"]) or "none"
    state = "" if one["active"] else " (not active)"
    return visible(f"{one['account']}{state}: {roles}")
