"""What tenants use, for those with the role and for owners: a row each by one query, however many
there are; and what would be lost with one."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest

from apiserver.platformroles import EDITORS, TENANT_ADMINS, VIEWERS
from apiserver.storage.models import TenantHead
from controlplane import accounts
from controlplane.console.facts import counted, rates
from controlplane.console.facts.asking import Answer, Refused, asked
from controlplane.console.facts.tokenrights import administers, owns, person
from controlplane.tenancy.models import ApiToken, Tenant
from controlplane.tenancy.service import default_limit

_COUNTS = """
SELECT api_group, resource, count(*), sum(size) FROM objects WHERE tenant_id = %s
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 200
"""


@asked("GET")
def listed(account: User, request: HttpRequest) -> Answer:
    """Those that the account may see, the largest first."""
    rows = used(account)
    return {"items": rows, "all": _sees_all(account)}


@asked("GET")
def one(account: User, request: HttpRequest, name: str) -> Answer:
    """A tenant's use and its objects by resource: what is lost when it is deleted. All of them are
    looked through."""
    row, tenant = _seen(account, name)
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [tenant.pk])
        kinds = [
            {"group": group, "resource": resource, "objects": count, "bytes": int(size)}
            for group, resource, count, size in cursor.fetchall()
        ]
    tokens = ApiToken.objects.filter(tenant=tenant, revoked_at=None).count()
    may = administers(person(account), tenant)
    return {**row, "kinds": kinds, "tokens": tokens, "administers": may}


@asked("GET")
def use(account: User, request: HttpRequest, name: str) -> Answer:
    """A tenant's use, what was written in it in the last hour (`rates.minutes`), and the watches
    that are open."""
    row, tenant = _seen(account, name)
    open_watches = counted.watches(counted.snapshots(tenant.pk).values())
    return {**row, "minutes": rates.minutes([tenant.pk]), "watches": open_watches}


def _seen(account: User, name: str) -> tuple[Answer, Tenant]:
    """Raises Refused."""
    rows = [row for row in used(account) if row["name"] == name]
    if not rows:
        raise Refused(404, f"there is no tenant {name!r}, or it is not yours to see")
    return rows[0], Tenant.objects.get(name=name)


def visible(account: User) -> list[Tenant]:
    """Those that the account may see: all, or those that it owns."""
    tenants = list(Tenant.objects.all())
    if _sees_all(account):
        return tenants
    who = person(account)
    return [tenant for tenant in tenants if owns(who, tenant)]


def used(account: User) -> list[dict[str, Any]]:
    tenants = visible(account)
    heads = {head.tenant_id: head for head in TenantHead.objects.all()}
    rows = [_row(tenant, heads.get(tenant.pk)) for tenant in tenants]
    return sorted(rows, key=lambda row: (-row["bytes"], row["name"]))


def _row(tenant: Tenant, head: TenantHead | None) -> dict[str, Any]:
    return {
        "name": tenant.name,
        "displayName": tenant.display_name,
        "state": tenant.state,
        "created": tenant.created_at.isoformat(),
        "owners": tenant.owners,
        "templates": tenant.templates,
        "expires": tenant.expires_at.isoformat() if tenant.expires_at else None,
        "protected": tenant.deletion_protection,
        "objects": head.object_count if head else 0,
        "bytes": head.bytes if head else 0,
        "logBytes": head.log_bytes if head else 0,
        "hourBytes": head.written_this_hour if head else 0,
        "head": str(head.head) if head else "0",
        "floor": str(head.floor) if head else "0",
        "limits": {
            "objects": _limit(tenant.max_objects, "objects"),
            "bytes": _limit(tenant.max_bytes, "bytes"),
            "logBytes": _limit(tenant.max_log_bytes, "log_bytes"),
            "hourBytes": _limit(tenant.max_hour_bytes, "hour_bytes"),
        },
    }


def _limit(own: int | None, name: str) -> int | None:
    return default_limit(name) if own is None else own


def _sees_all(account: User) -> bool:
    return any(accounts.holds(account, role) for role in (VIEWERS, EDITORS, TENANT_ADMINS))
