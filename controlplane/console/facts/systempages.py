"""The installation: what goes on in it, its database, and its settings."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from apiserver.endpoints.metric_types import Snapshot
from apiserver.meta.times import format_optional_time
from apiserver.platformroles import VIEWERS
from apiserver.storage.compact import RETENTION
from apiserver.storage.history import BEGINS
from apiserver.storage.models import AuditEntry, Lease
from controlplane import environment
from controlplane.console.facts import counted, rates
from controlplane.console.facts.asking import Answer, asked
from controlplane.console.facts.auditpages import wants_all
from controlplane.console.facts.endingpages import server_certificates
from controlplane.console.facts.newestchanges import newest
from controlplane.console.facts.tenantpages import used
from controlplane.tenancy.models import Tenant
from controlplane.version import KUBERNETES, VERSION

_MOST = 20  # rows
_LARGEST = 5  # tenants
_MUCH = 0.75  # of a quota
_LOOKED_THROUGH = 500  # tenants
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
_SINCE = """
coalesce(h.head - (
    SELECT e.previous FROM events e
    WHERE e.tenant_id = h.tenant_id AND e.resource_version > coalesce({}, 0)
    ORDER BY e.resource_version LIMIT 1
), 0)
"""
"""By how many versions what follows the log is behind it: none where nothing was written since, as
in a tenant that has never been used, whose versions do not begin with 1. h: of tenant_heads."""
_LOGS = f"""
SELECT t.name, h.head, h.floor, h.log_bytes,
    coalesce(extract(epoch FROM h.retention), %(retention)s)::bigint,
    {BEGINS}, {_SINCE.format("s.indexed")}, {_SINCE.format("c.through")}
FROM tenant_heads h JOIN tenancy_tenant t ON t.id = h.tenant_id
LEFT JOIN search_heads s USING (tenant_id) LEFT JOIN tally_heads c USING (tenant_id)
ORDER BY h.log_bytes DESC LIMIT %(most)s
"""  # noqa: S608  constants
_HAVING = """
SELECT DISTINCT f.resource, f.name, o.tenant_id
FROM unnest(%s::text[], %s::text[], %s::jsonb[]) AS f (resource, name, hook)
JOIN objects o ON o.tenant_id = ANY(%s) AND o.api_group = 'admissionregistration.k8s.io'
    AND o.resource = f.resource AND (o.name = f.name OR o.data @> f.hook)
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
    found = counted.snapshots()
    return {
        "workers": counted.workers(found),
        "slowest": counted.slowest(found.values()),
        "slowestRequests": counted.slowest_requests(found.values()),
        "logs": _logs(),
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
        "certificates": server_certificates(),
    }


@asked("GET", role=VIEWERS)
def overview(account: User, request: HttpRequest) -> Answer:
    """What there is, and who has most of it or little left; what was written and refused in the
    last hour (`rates.minutes`); which webhooks and policies fail, and the newest changes, with
    ``changes=all`` each of them (`newest`)."""
    names = dict(Tenant.objects.values_list("pk", "name"))
    since = timezone.now() - rates.RECENT
    entries = AuditEntry.objects.filter(tenant_id__in=list(names), resource_version__gt=0)
    changes = newest(entries.filter(at__gte=since), names, all_=wants_all(request, "changes"))
    tenants, found = used(account), counted.snapshots()
    return {
        "totals": _totals(tenants) | {"watches": counted.watches(found.values())},
        "largest": tenants[:_LARGEST],
        "full": _nearly_full(tenants),
        "failing": _failing(found.values(), names),
        "minutes": rates.minutes(list(names)),
        "changes": changes,
    }


def _totals(tenants: list[Answer]) -> Answer:
    numbers = ("objects", "bytes", "logBytes", "hourBytes")
    return {name: sum(row[name] for row in tenants) for name in numbers} | {"tenants": len(tenants)}


def _nearly_full(tenants: list[Answer]) -> list[Answer]:
    """Tenants that use much of what they may, each by the quota of which least is left."""
    rows = []
    for row in tenants:
        shares = {name: row[name] / most for name, most in row["limits"].items() if most}
        quota = max(shares, key=shares.__getitem__, default="")
        if quota and shares[quota] >= _MUCH:
            rows.append({"name": row["name"], "quota": quota, "share": shares[quota]})
    return sorted(rows, key=lambda row: (-row["share"], row["name"]))[:_MOST]


def _failing(found: Iterable[Snapshot], names: dict[int, str]) -> list[Answer]:
    """With the tenants that have a webhook or policy of the name, of a few hundred: counts of the
    whole installation do not say whose they are."""
    rows = counted.failing(found)
    if not rows:
        return []
    having: dict[tuple[str, str], list[str]] = defaultdict(list)
    hooks = [json.dumps({"webhooks": [{"name": row["name"]}]}) for row in rows]
    resources, failing = [row["resource"] for row in rows], [row["name"] for row in rows]
    with connection.cursor() as cursor:
        numbers = list(names)[:_LOOKED_THROUGH]
        cursor.execute(_HAVING, [resources, failing, hooks, numbers])
        for resource, name, number in cursor.fetchall():
            having[resource, name].append(names[number])
    return [
        {**row, "tenants": sorted(having[row["resource"], row["name"]])[:_MOST]} for row in rows
    ]


def _logs() -> list[Answer]:
    """The largest: up to where each is compacted, when it begins, and by how many versions the
    search index and the counts of objects are behind it."""
    with connection.cursor() as cursor:
        cursor.execute(_LOGS, {"retention": RETENTION.total_seconds(), "most": _MOST})
        return [
            {
                "tenant": tenant,
                "newest": str(head),
                "oldest": str(floor),
                "bytes": size,
                "retentionSeconds": retention,
                "begins": format_optional_time(begins),
                "searchBehind": search,
                "countsBehind": counts,
            }
            for tenant, head, floor, size, retention, begins, search, counts in cursor.fetchall()
        ]
