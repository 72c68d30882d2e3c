"""What has been waiting for its end for long: objects that are being deleted, of the tenants that
one may see. They are few, and an index has them (`objects_being_deleted`)."""

from __future__ import annotations

from datetime import UTC, timedelta

from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from apiserver.meta.times import format_time
from controlplane.console.facts.asking import Answer, asked, number_of
from controlplane.console.facts.tenantpages import visible

MINUTES = 5
"""Most controllers are done with a finalizer by then."""
_LONGEST = 366 * 24 * 60
_SHOWN = 50
_COUNTED = 10_000
"""Objects that are looked at; their JSON is read for the time."""
_WAITING = """
WITH waiting AS MATERIALIZED (
    SELECT tenant_id, api_group, resource, namespace, name, finalizers, since FROM (
        SELECT *, data #>> '{metadata,deletionTimestamp}' AS since FROM objects
        WHERE deleting AND tenant_id = ANY(%s) LIMIT %s
    ) AS marked WHERE since <= %s
)"""
# S608 below: what is filled in is the constant above
_COUNTS = f"""{_WAITING}
SELECT tenant_id, count(*), min(since) FROM waiting GROUP BY 1 ORDER BY 2 DESC, 1
"""  # noqa: S608
_OLDEST = f"""{_WAITING}
SELECT tenant_id, api_group, resource, namespace, name, finalizers, since FROM waiting
ORDER BY since, tenant_id, api_group, resource, namespace, name LIMIT {_SHOWN}
"""  # noqa: S608


@asked("GET")
def stuck(account: User, request: HttpRequest) -> Answer:
    """Objects whose deletion was asked for (or whose grace period ended) more than ``minutes``
    ago: how many each tenant has, and the oldest of them."""
    minutes = number_of(request, "minutes", MINUTES, _LONGEST)
    names = {tenant.pk: tenant.name for tenant in visible(account)}
    before = timezone.now().astimezone(UTC) - timedelta(minutes=minutes)
    given = (list(names), _COUNTED, format_time(before))
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, given)
        counts = [
            {"tenant": names[tenant], "objects": count, "since": since}
            for tenant, count, since in cursor.fetchall()
        ]
        cursor.execute(_OLDEST, given)
        members = ("group", "resource", "namespace", "name", "finalizers", "since")
        items = [
            {"tenant": names[tenant], **dict(zip(members, row, strict=True))}
            for tenant, *row in cursor.fetchall()
        ]
    return {"minutes": minutes, "tenants": counts, "items": items}
