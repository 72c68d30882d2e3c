"""Rows of tenants as the controller of Tenant objects reads and writes them: many at a time,
synchronously, in a thread of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction

from apiserver.storage import tenants as storage
from apiserver.storage.models import TenantHead
from apiserver.storage.visibility import django_everywhere
from controlplane.tenancy import declaration, service
from controlplane.tenancy.models import Departed, Tenant

_DECLARED = (
    *("display_name", "labels", "owners", "templates", "retention_seconds", "controllers_off"),
    *("state", "deletion_protection", "expires_at", "object_uid", "declared"),
    *Tenant.QUOTAS,
)


_SMALL = 4 * 2**20
"""Bytes of retained events up to which a tenant goes at once."""


class Found(NamedTuple):
    """rows: by name; departed: those of the uids whose tenants commands have deleted."""

    rows: Mapping[str, Tenant]
    departed: frozenset[str]


def find(names: Collection[str], uids: Collection[str]) -> Found:
    rows = {row.name: row for row in Tenant.objects.filter(name__in=names)}
    Departed.objects.filter(name__in=names).exclude(object_uid__in=uids).delete()  # done with
    gone = Departed.objects.filter(object_uid__in=uids).values_list("object_uid", flat=True)
    return Found(rows, frozenset(gone))


_DUE = """
(SELECT name FROM tenancy_tenant WHERE synced_revision <> revision LIMIT %(most)s)
UNION (SELECT name FROM tenancy_tenant
       WHERE expires_at <= %(now)s AND NOT deletion_protection LIMIT %(most)s)
UNION (SELECT name FROM tenancy_departed LIMIT %(most)s)"""


def due(now: datetime, most: int) -> list[str]:
    """Names of rows that a command has changed or deleted, and that have expired, in one statement:
    it is asked again and again while nothing happens."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"now": now, "most": most})
        return [name for (name,) in cursor.fetchall()]


def names() -> list[str]:
    return list(Tenant.objects.values_list("name", flat=True))


def make(objects: Iterable[Mapping[str, Any]]) -> dict[str, Tenant]:
    """New tenants as the objects declare them, all in one transaction, by name. Raises
    ValidationError, IntegrityError: none is made then."""
    rows = []
    for obj in objects:
        said = declaration.of_object(dict(obj))
        row = Tenant(name=obj["metadata"]["name"], object_uid=obj["metadata"]["uid"], declared=said)
        declaration.into_row(row, said)
        service.clean(row)
        rows.append(row)
    service.insert(rows)
    return {row.name: row for row in rows}


class Changed(Exception):
    """Somebody else has changed the row meanwhile."""


def save(row: Tenant, said: Mapping[str, Any], object_uid: str) -> None:
    """Brings the row to what was agreed. Raises ValidationError, Changed."""
    declaration.into_row(row, said)
    row.object_uid, row.declared = object_uid, dict(said)
    service.clean(row)
    with transaction.atomic():
        latest = Tenant.objects.select_for_update().filter(pk=row.pk, revision=row.revision)
        if not latest.exists():
            raise Changed(row.name)
        row.save(update_fields=_DECLARED)
        service.apply_limits(row)


def note(row: Tenant, **columns: Any) -> None:
    """Progress of the controller; says nothing new about the tenant."""
    for column, value in columns.items():
        setattr(row, column, value)
    Tenant.objects.filter(pk=row.pk).update(**columns)


def mark_synced(told: Collection[Tenant]) -> None:
    """The objects know of the rows in these revisions; there may be others by now."""
    by_revision: dict[int, list[int]] = {}
    for row in told:
        if row.revision != row.synced_revision:
            by_revision.setdefault(row.revision, []).append(row.pk)
    for revision, numbers in by_revision.items():
        Tenant.objects.filter(pk__in=numbers).update(synced_revision=revision)


def used(rows: Collection[Tenant]) -> dict[int, TenantHead]:
    with django_everywhere():
        return TenantHead.objects.in_bulk([row.pk for row in rows])


def usage() -> dict[str, tuple[int, int, int]]:
    """What all tenants use, by name: objects, their bytes, bytes of retained events."""
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.name, h.object_count, h.bytes, h.log_bytes "
            "FROM tenant_heads h JOIN tenancy_tenant t ON t.id = h.tenant_id"
        )
        return {name: (count, size, log_size) for name, count, size, log_size in cursor.fetchall()}


def over(now: datetime) -> list[str]:
    """Names of those whose time is up, protected ones among them."""
    return list(Tenant.objects.filter(expires_at__lte=now).values_list("name", flat=True))


def close(rows: Collection[Tenant]) -> None:
    """No request gets in from now on (within two seconds); those that have got in find nothing any
    more once `drop` has begun."""
    Tenant.objects.filter(pk__in=[row.pk for row in rows]).update(state=Tenant.State.DELETING)


def drop(rows: Sequence[Tenant]) -> None:
    """All that the tenants store, a bounded number of rows in each transaction, then they
    themselves. May be cut short at any point, and done again: how large one is, is not known
    then."""
    heads = used(rows)
    storage.close(*(row.pk for row in rows))
    for row in rows:
        head = heads.get(row.pk)
        if head is None or head.log_bytes > _SMALL:
            while storage.drop_some(row.pk, storage.MOST_ROWS):
                pass
    with django_everywhere():
        storage.drop_many([row.pk for row in rows])
        gone = [
            Departed(object_uid=row.object_uid, name=row.name) for row in rows if row.object_uid
        ]
        Departed.objects.bulk_create(gone, ignore_conflicts=True)
        Tenant.objects.filter(pk__in=[row.pk for row in rows]).delete()
