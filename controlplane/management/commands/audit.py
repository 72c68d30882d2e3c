"""manage.py audit: who did what, newest first."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apiserver.storage.visibility import django_everywhere, django_within
from controlplane.errors import OperatorError
from controlplane.management.output import PolyplaneCommand, add_output, visible
from controlplane.tenancy import service

if TYPE_CHECKING:
    from apiserver.storage.models import AuditEntry

_SPAN = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_AHEAD = 7


class Command(PolyplaneCommand):
    help = (
        "Print the audit log, newest first: of one tenant, or of all with what got to none (failed "
        "logins to the console, tokens that nobody knows). Or drop its old days now."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", help="its name, or the number of one that went")
        parser.add_argument("--user", default="", help="who asked, before impersonation")
        parser.add_argument(
            "--object",
            default="",
            metavar="RESOURCE[.GROUP][/NAMESPACE][/NAME]",
            help="deployments.apps/shop/web; configmaps/shop; nodes//n1 without a namespace",
        )
        parser.add_argument("--verb", default="", help="create, update, patch, delete ...")
        parser.add_argument("--code", type=int, help="the status of the answer: 403 ...")
        parser.add_argument(
            "--since",
            default="",
            help="30m, 8h, 7d or 2027-01-31T03:00Z; of all tenants 1d unless said",
        )
        parser.add_argument("--until", default="", help="likewise")
        parser.add_argument("--limit", type=int, default=100, help="most lines (default 100)")
        parser.add_argument(
            "--drop-older-than",
            type=int,
            metavar="DAYS",
            help="drop the days that ended more than DAYS days ago, and print which",
        )
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["drop_older_than"] is not None:
            self._drop(options)
            return
        with _seeing(options["tenant"]):
            entries = _entries(options)
        self.print(options, [e.event for e in entries], lambda: "\n".join(_rows(entries)))

    def _drop(self, options: dict[str, Any]) -> None:
        days: int = options["drop_older_than"]
        if days < 1:
            raise OperatorError(f"{days} days are none.", "--drop-older-than 1 or more.")
        with connection.cursor() as cursor:
            cursor.execute("SELECT partition, done FROM pp_keep_audit(%s, %s)", [days, _AHEAD])
            dropped = [name for name, done in cursor.fetchall() if done == "dropped"]
        self.print(options, dropped, lambda: "\n".join(dropped) or "nothing is that old")


def _seeing(tenant: str) -> AbstractContextManager[None]:
    if not tenant:
        return django_everywhere()
    if tenant.isdecimal():
        return django_within(int(tenant))
    return django_within(service.get_tenant(tenant).pk)


def _entries(options: dict[str, Any]) -> Sequence[AuditEntry]:
    from apiserver.storage.models import AuditEntry

    conditions: dict[str, Any] = {}
    if not options["tenant"] and not options["since"]:
        conditions["at__gte"] = _moment("1d")  # the index is by tenant
    for option, column in (("user", "user_name"), ("verb", "verb"), ("code", "code")):
        if options[option]:
            conditions[column] = options[option]
    for option, column in (("since", "at__gte"), ("until", "at__lt")):
        if options[option]:
            conditions[column] = _moment(options[option])
    if options["object"]:
        conditions |= _key(options["object"])
    rows = AuditEntry.objects.filter(**conditions).order_by("-at", "-resource_version")
    return list(rows[: max(options["limit"], 0)])


def _key(text: str) -> dict[str, str]:
    kind, *rest = text.split("/")
    resource, _, group = kind.partition(".")
    key = {"resource": resource, "api_group": group}
    if rest:
        key["namespace"] = rest[0]
    if len(rest) > 1:
        key["name"] = "/".join(rest[1:])
    return key


def _moment(text: str) -> datetime:
    if span := _SPAN.fullmatch(text):
        return timezone.now() - timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise OperatorError(f"{text!r} is no time.", "write 30m, 8h, 7d, or 2027-01-31T03:00:00Z.")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def _rows(entries: Sequence[AuditEntry]) -> Iterator[str]:
    yield (
        f"{'TIME':<21}{'TENANT':<8}{'CODE':<6}{'VERB':<18}{'USER':<36}{'FROM':<17}{'VERSION':<10}"
        "WHAT"
    )
    for e in entries:
        user = f"{e.user_name or '-'} as {e.acting}" if e.acting else e.user_name or "-"
        source = ",".join(e.data.get("sourceIPs") or ()) or "-"
        yield visible(
            f"{e.at:%Y-%m-%d %H:%M:%S}  {_number_text(e.tenant_id):<8}{e.code:<6}{e.verb:<18}"
            f"{user:<36}{source:<17}{_number_text(e.resource_version or None):<10}{e.target}"
        )


def _number_text(number: int | None) -> str:
    return "-" if number is None else str(number)
