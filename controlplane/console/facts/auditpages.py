"""The audit log, searched: newest first, within a span of time, because the table is indexed by
tenant and time.

Unless all is asked for, what nobody did is left out (`by_people`), in the database, so that a page
is full of the rest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from apiserver.controllers.actions import CONTROLLER
from apiserver.kinds import catalog
from apiserver.platformroles import VIEWERS
from apiserver.request import OWN_TENANTS
from apiserver.storage.commit import SERVER
from apiserver.storage.models import AuditEntry
from controlplane.console.facts.asking import Answer, Refused, asked, number_of
from controlplane.tenancy.models import Tenant

_EXACT = {"user": "user_name", "verb": "verb", "resource": "resource", "namespace": "namespace"}
_RESTORE = re.compile(
    r"(?:/clusters/[^/]+)?/apis/history\.polyplane\.dev/v1/(?:namespaces/[^/]+/)?"
    r"(?:cluster)?revisions/(\d+)/(rollback|undelete)(?:\?|\Z)"
)
_MOST = 500
OWN = Q(user_name__in=(SERVER, CONTROLLER.name)) & Q(uri="")
"""What the server's own controllers do. Such entries have no address, which every request has (uri:
an alias of `by_people`; it is asked for last, so that few entries are looked into)."""
_SPAN = timedelta(days=1)


@asked("GET", role=VIEWERS)
def found(account: User, request: HttpRequest) -> Answer:
    """Entries by ``tenant``, ``user``, ``verb``, ``group``, ``resource``, ``namespace``, ``name``,
    ``code`` (403, or 4xx), ``message`` (a part of what was answered where something was refused or
    failed) and ``auditID``, between ``since`` and ``until`` (RFC 3339; else the last
    day); ``show=all``: also what `by_people` leaves out."""
    limit = number_of(request, "limit", 100, _MOST)
    entries = _narrowed(request)
    if not wants_all(request, "show"):
        entries = by_people(entries)
    rows = list(entries[: limit + 1])
    names = dict(Tenant.objects.values_list("pk", "name").filter(pk__in=_tenants(rows)))
    return {
        "items": [described(row, names) for row in rows[:limit]],
        "more": len(rows) > limit,
    }


def wants_all(request: HttpRequest, parameter: str) -> bool:
    """Raises Refused."""
    value = request.GET.get(parameter, "")
    if value not in ("", "all"):
        raise Refused(400, f"{parameter} has to be all, or left out")
    return value == "all"


def by_people(rows: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Without questions and dry runs, which stored nothing and were not refused, and without what
    the server's own controllers write of themselves: status, and renewals of leases."""
    answered = Q(resource_version=0, code__lt=400)
    renewal = Q(api_group="coordination.k8s.io", resource="leases", verb="update")
    routine = OWN & (Q(part="status") | renewal)
    looked_into = rows.alias(
        uri=_text("data__requestURI"), part=_text("data__objectRef__subresource")
    )
    return looked_into.exclude(routine | answered & (_questions() | Q(uri__contains="dryRun=")))


def _text(path: str) -> Coalesce:
    """A member of the Event, "" where it has none."""
    return Coalesce(KT(path), Value(""), output_field=TextField())


@cache
def _questions() -> Q:
    """Creates of what can be created and nothing else: no list, no object shows it afterwards."""
    asked_by = defaultdict(list)
    for name, resource in catalog.resources().items():
        if {verb for v in resource.versions.values() for verb in v.verbs} == {"create"}:
            asked_by[name.group].append(name.resource)
    asked_by[OWN_TENANTS.group].append(OWN_TENANTS.resource)
    some = Q()
    for group, resources in asked_by.items():
        some |= Q(api_group=group, resource__in=resources)
    return Q(verb="create") & some


def described(row: AuditEntry, names: dict[int, str]) -> Answer:
    return {
        "id": str(row.pk),
        "at": row.at.isoformat(),
        "tenant": names.get(row.tenant_id or 0, "" if row.tenant_id is None else "(deleted)"),
        "user": row.user_name,
        "as": row.acting,
        "verb": row.verb,
        "restored": _restored(row),
        "code": row.code,
        "group": row.api_group,
        "resource": row.resource,
        "namespace": row.namespace,
        "name": row.name,
        "version": str(row.resource_version or ""),
        "target": row.target,
        "event": row.event,
    }


def _restored(row: AuditEntry) -> str:
    """What a create was that restored an object ("rollback of 265"), by its address; else ""."""
    found = _RESTORE.match(row.data.get("requestURI") or "")
    return f"{found[2]} of {found[1]}" if found else ""


def _tenants(rows: list[AuditEntry]) -> set[int]:
    return {row.tenant_id for row in rows if row.tenant_id is not None}


def _narrowed(request: HttpRequest) -> QuerySet[AuditEntry]:
    asked_for = request.GET
    until = _time(request, "until") or timezone.now()
    since = _time(request, "since") or _before(until)
    rows = AuditEntry.objects.filter(at__gte=since, at__lte=until)
    if name := asked_for.get("tenant"):
        rows = rows.filter(
            tenant_id__in=list(Tenant.objects.filter(name=name).values_list("pk", flat=True))
        )
    for parameter, column in _EXACT.items():
        if value := asked_for.get(parameter):
            rows = rows.filter(**{column: value.replace("\0", "")})
    if group := asked_for.get("group"):
        rows = rows.filter(api_group="" if group == "core" else group.replace("\0", ""))
    if name := asked_for.get("name"):
        rows = rows.filter(name=name.replace("\0", ""))
    if audit_id := asked_for.get("auditID"):
        rows = rows.alias(audit_id=_text("data__auditID")).filter(audit_id=audit_id)
    if message := asked_for.get("message"):
        said = rows.filter(code__gte=400).alias(said=_text("data__responseStatus__message"))
        rows = said.filter(said__icontains=message.replace("\0", ""))
    return rows.filter(_codes(asked_for.get("code", "")))


def _codes(text: str) -> Q:
    """Raises Refused."""
    if not text:
        return Q()
    if len(text) == 3 and text[0] in "12345" and text[1:] == "xx":
        return Q(code__gte=int(text[0]) * 100, code__lt=int(text[0]) * 100 + 100)
    if len(text) == 3 and text.isascii() and text.isdigit():
        return Q(code=int(text))
    raise Refused(400, "code has to be like 403 or 4xx")


def _before(until: datetime) -> datetime:
    """Raises Refused."""
    try:
        return until - _SPAN
    except OverflowError:
        raise Refused(400, "until is too early") from None


def _time(request: HttpRequest, name: str) -> Any:
    """Raises Refused."""
    text = request.GET.get(name, "")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else timezone.make_aware(moment)
    except (ValueError, OverflowError):
        raise Refused(400, f"{name} has to be a time like 2026-11-23T14:05:00Z") from None
