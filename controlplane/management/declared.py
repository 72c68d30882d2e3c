"""What `manage.py tenant create` and `update` may say beside limits: who owns a tenant, and until
when it lasts; and the selectors of commands for many tenants."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from apiserver.meta.labels import LabelSelectorError, parse_label_selector
from controlplane.errors import OperatorError
from controlplane.management.durations import span_of
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant

_NEVER = "never"
_KINDS = ("User", "Group")


def add_declared(parser: ArgumentParser) -> None:
    parser.add_argument("--display-name")
    parser.add_argument(
        "--label", action="append", type=_label, metavar="KEY=VALUE", help="KEY- takes it away"
    )
    parser.add_argument(
        "--owner",
        action="append",
        type=_owner,
        metavar="User:NAME|Group:NAME",
        help="bound to cluster-admin in the tenant; those that are given are all; none: nobody",
    )
    parser.add_argument(
        "--expires",
        type=_expiry,
        metavar="WHEN",
        help="the tenant is deleted at a time (2030-01-31T12:00:00Z) or after a while (36h, 7d); "
        f"{_NEVER}",
    )
    parser.add_argument(
        "--deletion-protection", choices=("on", "off"), help="refuses deletion while it is on"
    )


def declared(options: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Columns of the row that were given. labels: those that the tenant has."""
    columns: dict[str, Any] = {}
    if options["display_name"] is not None:
        columns["display_name"] = options["display_name"]
    if options["label"] is not None:
        changed = {**labels, **dict(options["label"])}
        columns["labels"] = {key: value for key, value in changed.items() if value is not None}
    if options["owner"] is not None:
        columns["owners"] = sorted({owner for owner in options["owner"] if owner})
    if options["expires"] is not None:
        columns["expires_at"] = None if options["expires"] == _NEVER else options["expires"]
    if options["deletion_protection"] is not None:
        columns["deletion_protection"] = options["deletion_protection"] == "on"
    return columns


def _label(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    if not equals and text.endswith("-"):
        return text[:-1], None
    try:
        parse_label_selector(f"{key}={value}")
    except LabelSelectorError as e:
        raise ArgumentTypeError(str(e)) from e
    if not equals or not key:
        raise ArgumentTypeError(f"{text!r} is no KEY=VALUE")
    return key, value


def _owner(text: str) -> str:
    kind, _, name = text.partition(":")
    if text == "none":
        return ""
    if kind not in _KINDS or not name or len(name) > 300:
        raise ArgumentTypeError(f"{text!r} is no User:NAME and no Group:NAME")
    return text


def _expiry(text: str) -> datetime | str:
    if text == _NEVER:
        return text
    if (span := span_of(text)) is not None:
        return timezone.now() + span
    try:
        at = datetime.fromisoformat(text)
    except ValueError as e:
        raise ArgumentTypeError(f"{text!r} is no time, and no duration like 8h or 7d") from e
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def add_names(parser: ArgumentParser) -> None:
    """Of the tenants that a command is about, or a selector of their labels."""
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("-l", "--selector", default="", help="all tenants with these labels")


def selected(options: dict[str, Any]) -> Sequence[Tenant]:
    """The tenants that are named or selected. Raises OperatorError for one that is not there, and
    where nobody says which."""
    if bool(options["names"]) == bool(options["selector"]):
        raise OperatorError("Which tenants?", "name them, or give -l KEY=VALUE; not both.")
    if options["names"]:
        return [service.get_tenant(name) for name in dict.fromkeys(options["names"])]
    return [tenant for tenant in Tenant.objects.all() if matches(options["selector"], tenant)]


def matches(selector: str, tenant: Tenant) -> bool:
    """Raises OperatorError for what is no selector."""
    try:
        return parse_label_selector(selector).matches(tenant.labels)
    except LabelSelectorError as e:
        raise OperatorError(f"{selector!r} is no label selector: {e}", "write KEY=VALUE.") from e
