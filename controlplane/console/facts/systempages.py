"""The installation: what goes on in it, its database, and its settings."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path

from cryptography import x509
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from apiserver.meta.times import format_optional_time
from apiserver.platformroles import VIEWERS
from apiserver.storage.models import AuditEntry, Lease
from controlplane import environment
from controlplane.console.facts.asking import Answer, asked
from controlplane.console.facts.auditpages import by_people, described, wants_all
from controlplane.datadir import DataDir
from controlplane.tenancy.models import ApiToken, Tenant
from controlplane.version import KUBERNETES, VERSION

_SOON = timedelta(days=14)
_RECENT = timedelta(hours=1)
_MOST = 20  # rows
_TABLES = """
SELECT c.relname, sum(pg_total_relation_size(coalesce(i.inhrelid, c.oid)))::bigint,
    count(i.inhrelid)
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhparent = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
    AND NOT c.relispartition
GROUP BY 1 ORDER BY 2 DESC LIMIT 12
"""
_SESSIONS = """
SELECT coalesce(application_name, ''), coalesce(state, ''), count(*),
    coalesce(max(extract(epoch FROM now() - query_start)) FILTER (WHERE state = 'active'), 0)::float
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 30
"""
_MINUTES = """
SELECT extract(epoch FROM date_trunc('minute', at))::bigint,
    count(*) FILTER (WHERE resource_version > 0),
    count(*) FILTER (WHERE code BETWEEN 400 AND 499), count(*) FILTER (WHERE code >= 500)
FROM audit_entries WHERE at >= %s AND tenant_id = ANY(%s) GROUP BY 1 ORDER BY 1
"""


@asked("GET", role=VIEWERS)
def system(account: User, request: HttpRequest) -> Answer:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_database_size(current_database()), current_setting('server_version'), "
            "extract(epoch FROM now() - pg_postmaster_start_time())::float"
        )
        size, version, up = cursor.fetchone()
        cursor.execute(_TABLES)
        tables = [{"name": n, "bytes": s, "partitions": p} for n, s, p in cursor.fetchall()]
        cursor.execute(_SESSIONS)
        keys = ("application", "state", "connections", "longestSeconds")
        sessions = [dict(zip(keys, row, strict=True)) for row in cursor.fetchall()]
    return {
        "version": VERSION,
        "kubernetes": KUBERNETES,
        "database": {"bytes": size, "version": version, "upSeconds": up, "tables": tables},
        "connections": sessions,
        "leases": [
            {
                "name": lease.name,
                "holder": lease.holder,
                "until": format_optional_time(lease.expires_at),
            }
            for lease in Lease.objects.order_by("name")
        ],
        "settings": {n: v for n, v in sorted(environment.flags().items()) if v},
        "certificates": _certificates(),
    }


@asked("GET", role=VIEWERS)
def overview(account: User, request: HttpRequest) -> Answer:
    """What was written and refused in each minute of the last hour ([begin in seconds since 1970,
    writes, answers 4xx, answers 5xx]), what ends soon, and the newest changes; with ``changes=all``
    those, too, that `by_people` leaves out."""
    names = dict(Tenant.objects.values_list("pk", "name"))
    since = timezone.now() - _RECENT
    with connection.cursor() as cursor:
        cursor.execute(_MINUTES, [since, list(names)])
        minutes = cursor.fetchall()
    entries = AuditEntry.objects.filter(tenant_id__in=list(names), resource_version__gt=0)
    changes = entries.filter(at__gte=since)
    if not wants_all(request, "changes"):
        changes = by_people(changes)
    return {
        "minutes": minutes,
        "tokens": _ending(names),
        "certificates": _certificates(),
        "changes": [{**described(row, names), "event": None} for row in changes[:_MOST]],
    }


def _ending(names: dict[int, str]) -> list[Answer]:
    now = timezone.now()
    rows = ApiToken.objects.filter(
        revoked_at=None, expires_at__gt=now, expires_at__lt=now + _SOON
    ).select_related("tenant")
    return [
        {
            "id": token.pk,
            "user": token.user,
            "tenant": token.tenant.name if token.tenant else "",
            "expires": format_optional_time(token.expires_at),
        }
        for token in rows.order_by("expires_at")[:_MOST]
        if token.tenant_id is None or token.tenant_id in names
    ]


def _certificates() -> list[Answer]:
    """What the server shows to clients, and the authority that made it, where it has one."""
    data = DataDir.from_environment()
    brought = environment.text("TLS_CERT_FILE")
    found = [("serving certificate", Path(brought) if brought else data.file("tls.crt"))]
    if not brought:
        found.append(("certificate authority", data.file("ca.crt")))
    rows = []
    for name, path in found:
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
        except (OSError, ValueError):
            continue
        ends = certificate.not_valid_after_utc
        rows.append(
            {
                "name": name,
                "subject": certificate.subject.rfc4514_string(),
                "expires": format_optional_time(ends),
                "soon": ends < timezone.now().astimezone(UTC) + _SOON,
            }
        )
    return rows
