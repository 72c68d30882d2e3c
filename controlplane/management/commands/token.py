"""manage.py token create|list|revoke."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from controlplane.tenancy import service, tokens
from controlplane.tenancy.models import ApiToken


class Command(BaseCommand):
    help = "Create, list and revoke bearer tokens. `create` prints the token to standard output; it cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a token and print it")
        create.add_argument("user")
        create.add_argument("--uid", default="")
        create.add_argument("--group", action="append", default=[], help="may be given several times")
        create.add_argument("--tenant", default="", help="valid in this tenant only; without it, in all")
        create.add_argument("--days", type=int, default=0, help="expires after so many days; 0: never")
        create.add_argument("--description", default="")
        listing = actions.add_parser("list", help="all tokens, without their secrets")
        listing.add_argument("--tenant", default="")
        revoke = actions.add_parser("revoke", help="end a token; takes effect within two seconds")
        revoke.add_argument("id", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        new = tokens.create_token(
            options["user"],
            uid=options["uid"],
            groups=options["group"],
            tenant=service.get_tenant(options["tenant"]) if options["tenant"] else None,
            lifetime=timedelta(days=options["days"]) if options["days"] else None,
            description=options["description"],
        )
        self.stdout.write(new.secret)

    def _list(self, options: dict[str, Any]) -> None:
        tenant = service.get_tenant(options["tenant"]) if options["tenant"] else None
        self.stdout.write(f"{'ID':<8}{'USER':<32}{'TENANT':<24}{'STATE':<10}{'LAST USED':<18}GROUPS")
        for t in tokens.list_tokens(tenant):
            used = f"{t.last_used:%Y-%m-%d %H:%M}" if t.last_used else "never"
            self.stdout.write(f"{t.pk:<8}{t.user:<32}{t.tenant.name if t.tenant else '*':<24}{_state(t):<10}{used:<18}{','.join(t.groups)}")

    def _revoke(self, options: dict[str, Any]) -> None:
        token = tokens.revoke_token(options["id"])
        self.stdout.write(f"token {token.pk} of {token.user} revoked")


def _state(token: ApiToken) -> str:
    if token.revoked_at:
        return "revoked"
    return "expired" if token.expires_at and token.expires_at <= timezone.now() else "valid"
