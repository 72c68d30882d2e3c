"""manage.py audit: who did what, newest first."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apiserver.request import TENANCY_GROUP, TENANT_KEY
from apiserver.storage.visibility import django_everywhere, django_within
from controlplane.errors import OperatorError
from controlplane.management.durations import span_of
from controlplane.management.output import PolyplaneCommand, add_output, visible
from controlplane.management.resources import named
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant

if TYPE_CHECKING:
    from apiserver.storage.models import AuditEntry

_AHEAD = 7
_VERBS = (
    *("create", "update", "patch", "delete", "deletecollection", "get", "list", "watch", "proxy"),
    *("post", "put", "head", "options", "login", "revoke"),
)
"""Of requests, also of those for a path that is no resource's, and of the console."""
_TOKENS = named(TENANCY_GROUP, "tokens", False, ("token",))
"""What the console tells of bearer tokens: no resource that anybody serves."""


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
            help="deployments.apps/shop/web, deploy/shop/web; configmaps/shop; nodes/n1",
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
        tenant = _number(options["tenant"])
        with _seeing(tenant):
            entries = _entries(options, tenant)
        numbers = {entry.tenant_id for entry in entries if entry.tenant_id is not None}
        names = dict(Tenant.objects.values_list("pk", "name").filter(pk__in=numbers))
        events = [_event(entry, names) for entry in entries]
        self.print(options, events, lambda: "\n".join(_rows(entries, names)))

    def _drop(self, options: dict[str, Any]) -> None:
        days: int = options["drop_older_than"]
        if days < 1:
            raise OperatorError(f"{days} days are none.", "--drop-older-than 1 or more.")
        with connection.cursor() as cursor:
            cursor.execute("SELECT partition, done FROM pp_keep_audit(%s, %s)", [days, _AHEAD])
            dropped = [name for name, done in cursor.fetchall() if done == "dropped"]
        self.print(options, dropped, lambda: "\n".join(dropped) or "nothing is that old")


def _seeing(tenant: int | None) -> AbstractContextManager[None]:
    return django_everywhere() if tenant is None else django_within(tenant)


def _number(tenant: str) -> int | None:
    """Raises OperatorError."""
    if not tenant:
        return None
    if tenant.isdecimal() and not Tenant.objects.filter(name=tenant).exists():
        return int(tenant)
    return service.get_tenant(tenant).pk


def _entries(options: dict[str, Any], tenant: int | None) -> Sequence[AuditEntry]:
    """Raises OperatorError for a verb and a resource that nobody knows and no entry has."""
    from apiserver.storage.models import AuditEntry

    conditions: dict[str, Any] = {}
    if tenant is None and not options["since"]:
        conditions["at__gte"] = _moment("1d")  # the index is by tenant
    for option, column in (("since", "at__gte"), ("until", "at__lt")):
        if options[option]:
            conditions[column] = _moment(options[option])
    rows = span = AuditEntry.objects.filter(**conditions)
    for option, column in (("user", "user_name"), ("verb", "verb"), ("code", "code")):
        if options[option]:
            rows = rows.filter(**{column: options[option]})
    if options["verb"]:
        _check_verb(options["verb"], span)
    if options["object"]:
        rows = rows.filter(_about(options["object"], tenant, span))
    return list(rows.order_by("-at", "-resource_version")[: max(options["limit"], 0)])


def _check_verb(verb: str, span: QuerySet[AuditEntry]) -> None:
    if verb in _VERBS or span.filter(verb=verb).exists():
        return
    near = difflib.get_close_matches(verb.lower(), _VERBS, n=1, cutoff=0.6)
    raise OperatorError(
        f"The log knows no verb {verb!r}.",
        f"did you mean {near[0]}?" if near else f"there are {', '.join(_VERBS)}.",
    )


def _about(text: str, tenant: int | None, span: QuerySet[AuditEntry]) -> Q:
    """What ``--object`` asks for: all resources that its word means, or what it says literally, of
    which there may be entries when its definition has gone."""
    from controlplane.management import resources

    word, *rest = text.split("/")
    every = resources.Resources(resources.built_in())
    known = every if tenant is None else resources.of_tenant(tenant)
    known = replace(known, all=[*known.all, _TOKENS])
    some = Q()
    for one in known.meant(word):
        some |= Q(resource=one.resource, api_group=one.group) & _within(rest, one.namespaced)
    if some:
        return some
    name, _, group = word.partition(".")
    literal = Q(resource=name, api_group=group)
    if group in known.elsewhere or span.filter(literal).exists():
        return literal & _within(rest, namespaced=True)
    raise OperatorError(
        f"There is no resource {word!r} in that tenant."
        if tenant
        else f"There is no built-in resource {word!r}.",
        known.near(word) + ("" if tenant else " Of custom resources, name the --tenant."),
    )


def _within(rest: list[str], namespaced: bool) -> Q:
    """``[NAMESPACE[, NAME]]``; of what is in none, the name is the last."""
    if not namespaced:
        name = "/".join(rest).lstrip("/")
        return Q(name=name) if name else Q()
    asked = Q(namespace=rest[0]) if rest else Q()
    return asked & Q(name="/".join(rest[1:])) if len(rest) > 1 else asked


def _moment(text: str) -> datetime:
    if (span := span_of(text)) is not None:
        return timezone.now() - span
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise OperatorError(f"{text!r} is no time.", "write 30m, 8h, 7d, or 2027-01-31T03:00:00Z.")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def _event(entry: AuditEntry, names: dict[int, str]) -> dict[str, Any]:
    """With the annotation that names its tenant, which the server's own writes do without."""
    event, tenant = entry.event, _tenant(entry, names)
    if tenant:
        event["annotations"] = {TENANT_KEY: tenant, **(event.get("annotations") or {})}
    return event


def _tenant(entry: AuditEntry, names: dict[int, str]) -> str:
    """The number of one that went."""
    number = entry.tenant_id
    return "" if number is None else names.get(number, str(number))


def _rows(entries: Sequence[AuditEntry], names: dict[int, str]) -> Iterator[str]:
    tenants = [_tenant(entry, names) or "-" for entry in entries]
    width = max(map(len, ["TENANT", *tenants])) + 2
    yield (
        f"{'TIME':<21}{'TENANT':<{width}}{'CODE':<6}{'VERB':<18}{'USER':<36}{'FROM':<17}"
        f"{'VERSION':<10}WHAT"
    )
    for e, tenant in zip(entries, tenants, strict=True):
        user = f"{e.user_name or '-'} as {e.acting}" if e.acting else e.user_name or "-"
        source = ",".join(e.data.get("sourceIPs") or ()) or "-"
        yield visible(
            f"{e.at:%Y-%m-%d %H:%M:%S}  {tenant:<{width}}{e.code:<6}{e.verb:<18}"
            f"{user:<36}{source:<17}{e.resource_version or '-':<10}{e.target}"
        )
