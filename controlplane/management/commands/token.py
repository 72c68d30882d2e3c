"""manage.py token create|list|tenants|revoke."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any

from django.utils import timezone

from apiserver.meta.times import format_optional_time
from controlplane import accounts
from controlplane.management.output import PolyplaneCommand, add_actions, add_output
from controlplane.tenancy import service, tokens
from controlplane.tenancy.expiry import add_expiry, lifetime
from controlplane.tenancy.models import ApiToken


class Command(PolyplaneCommand):
    help = (
        "Create, list and revoke bearer tokens. `create` prints the token to standard "
        "output; it cannot be shown again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = add_actions(parser)
        create = actions.add_parser("create", help="make a token and print it")
        create.add_argument("user")
        create.add_argument("--uid", default="")
        create.add_argument(
            "--group", action="append", default=[], help="may be given several times"
        )
        create.add_argument(
            "--as-account",
            action="store_true",
            help="USER is a console account: with its uid, and with its groups as they are now",
        )
        scope = create.add_mutually_exclusive_group()
        scope.add_argument(
            "--tenant",
            default="",
            help="valid in this tenant only (default: the one of URLs without a tenant)",
        )
        scope.add_argument(
            "--all-tenants", action="store_true", help="valid in every tenant, those to come too"
        )
        add_expiry(create)
        create.add_argument("--description", default="")
        listing = actions.add_parser("list", help="all tokens, without their secrets")
        listing.add_argument("--tenant", default="")
        revoke = actions.add_parser("revoke", help="end a token; takes effect within two seconds")
        revoke.add_argument("id", type=int)
        usable = actions.add_parser(
            "tenants", help="those that a token's user owns, or is bound in"
        )
        usable.add_argument("id", type=int)
        for action in (create, listing, revoke, usable):
            add_output(action)

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        uid, groups = options["uid"], options["group"]
        if options["as_account"]:
            account = accounts.get(options["user"])
            uid, groups = accounts.api_uid(account), [*accounts.api_groups(account), *groups]
        new = tokens.create_token(
            options["user"],
            uid=uid,
            groups=groups,
            tenant=None
            if options["all_tenants"]
            else service.get_tenant(options["tenant"] or service.DEFAULT),
            lifetime=lifetime(options),
            description=options["description"],
        )
        self.stderr.write(tokens.describe(new.token))
        self.print(options, {**_described(new.token), "token": new.secret}, new.secret)

    def _list(self, options: dict[str, Any]) -> None:
        tenant = service.get_tenant(options["tenant"]) if options["tenant"] else None
        listed = tokens.list_tokens(tenant)
        self.print(options, [_described(t) for t in listed], lambda: "\n".join(_rows(listed)))

    def _revoke(self, options: dict[str, Any]) -> None:
        token = tokens.revoke_token(options["id"])
        self.print(options, _described(token), f"token {token.pk} of {token.user} revoked")

    def _tenants(self, options: dict[str, Any]) -> None:
        value = [
            {"name": name, "state": state, "path": f"/clusters/{name}", "through": through}
            for name, state, through in tokens.tenants_of(options["id"])
        ]
        if not value:
            self.stderr.write("no tenant in which the token is good knows its user")
        self.print(options, value, lambda: "\n".join(str(told["name"]) for told in value))


def _rows(listed: Sequence[ApiToken]) -> Iterator[str]:
    yield f"{'ID':<8}{'USER':<32}{'TENANT':<24}{'STATE':<10}{'LAST USED':<18}GROUPS"
    for token in listed:
        tenant = token.tenant.name if token.tenant else "*"
        used = f"{token.last_used:%Y-%m-%d %H:%M}" if token.last_used else "never"
        groups = ",".join(token.groups)
        yield f"{token.pk:<8}{token.user:<32}{tenant:<24}{_state(token):<10}{used:<18}{groups}"


def _described(token: ApiToken) -> dict[str, Any]:
    """All but the secret; tenant null: valid in every tenant."""
    return {
        "id": token.pk,
        "user": token.user,
        "uid": token.uid,
        "groups": token.groups,
        "tenant": token.tenant.name if token.tenant else None,
        "description": token.description,
        "state": _state(token),
        "createdAt": format_optional_time(token.created_at),
        "expiresAt": format_optional_time(token.expires_at),
        "revokedAt": format_optional_time(token.revoked_at),
        "lastUsed": format_optional_time(token.last_used),
    }


def _state(token: ApiToken) -> str:
    if token.revoked_at:
        return "revoked"
    return "expired" if token.expires_at and token.expires_at <= timezone.now() else "valid"
