"""The audit log, searched: newest first, within a span of time, because the table is indexed by
tenant and time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apiserver.platformroles import VIEWERS
from apiserver.storage.models import AuditEntry
from controlplane.console.facts.asking import Answer, Refused, asked, number_of
from controlplane.tenancy.models import Tenant

_EXACT = {"user": "user_name", "verb": "verb", "resource": "resource", "namespace": "namespace"}
_MOST = 500
_SPAN = timedelta(days=1)


@asked("GET", role=VIEWERS)
def found(account: User, request: HttpRequest) -> Answer:
    """Entries by ``tenant``, ``user``, ``verb``, ``group``, ``resource``, ``namespace``, ``name``,
    ``code`` (403, or 4xx), between ``since`` and ``until`` (RFC 3339; else the last day)."""
    limit = number_of(request, "limit", 100, _MOST)
    rows = list(_narrowed(request)[: limit + 1])
    names = dict(Tenant.objects.values_list("pk", "name").filter(pk__in=_tenants(rows)))
    return {
        "items": [described(row, names) for row in rows[:limit]],
        "more": len(rows) > limit,
    }


def described(row: AuditEntry, names: dict[int, str]) -> Answer:
    return {
        "id": str(row.pk),
        "at": row.at.isoformat(),
        "tenant": names.get(row.tenant_id or 0, "" if row.tenant_id is None else "(deleted)"),
        "user": row.user_name,
        "as": row.acting,
        "verb": row.verb,
        "code": row.code,
        "group": row.api_group,
        "resource": row.resource,
        "namespace": row.namespace,
        "name": row.name,
        "version": str(row.resource_version or ""),
        "target": row.target,
        "event": row.event,
    }


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
