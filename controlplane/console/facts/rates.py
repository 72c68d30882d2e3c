"""What was written, refused and failed of late, minute by minute."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

RECENT = timedelta(hours=1)
_MINUTES = """
SELECT extract(epoch FROM date_trunc('minute', at))::bigint,
    count(*) FILTER (WHERE resource_version > 0),
    count(*) FILTER (WHERE code BETWEEN 400 AND 499), count(*) FILTER (WHERE code >= 500)
FROM audit_entries WHERE at >= %s AND tenant_id = ANY(%s) GROUP BY 1 ORDER BY 1
"""


def minutes(tenants: Sequence[int]) -> list[Any]:
    """Of the last hour, those in which there was something: [begin in seconds since 1970, writes,
    answers 4xx, answers 5xx], as far as they are in the audit log."""
    with connection.cursor() as cursor:
        cursor.execute(_MINUTES, [timezone.now() - RECENT, list(tenants)])
        return list(cursor.fetchall())
