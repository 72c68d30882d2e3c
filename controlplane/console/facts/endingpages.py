"""What ends soon: tokens, what the server shows to clients, certificates in tenants' Secrets.

| who | sees |
|---|---|
| polyplane:viewers | tokens, the server's certificates |
| an owner, once bound in the tenant | certificates in the tenant's Secrets |
| a superuser | all |

Who may see a certificate's Secret is cluster-admin of its tenant, and so may read it; somebody to
whom a tenant's RBAC gives its Secrets otherwise finds them in the tenant. When a certificate ends
is in the search index (`apiserver.search.certificates`): no Secret is read here.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from apiserver.meta.times import format_optional_time
from apiserver.platformroles import VIEWERS
from apiserver.storage.models import SearchEntry
from controlplane import accounts, environment
from controlplane.console.facts.asking import Answer, asked
from controlplane.console.facts.tokenrights import Person, may_read_secrets, person
from controlplane.datadir import DataDir
from controlplane.tenancy.models import ApiToken, Tenant

SOON = timedelta(days=14)
_MOST = 20  # rows
_ENDING = """
SELECT s.tenant_id, s.namespace, s.name, s.ends FROM search_entries s
WHERE s.ends BETWEEN %s AND %s AND s.tenant_id = ANY(%s) AND EXISTS (
    SELECT 1 FROM objects o WHERE o.tenant_id = s.tenant_id AND o.api_group = s.api_group
        AND o.resource = s.resource AND o.namespace = s.namespace AND o.name = s.name
)
ORDER BY s.ends, s.tenant_id, s.namespace, s.name LIMIT %s
"""


@asked("GET")
def ending(account: User, request: HttpRequest) -> Answer:
    """Within `SOON`, what ends first coming first. Certificates in Secrets that have ended within
    `SOON` are among them, because something may still show them; more: there are others."""
    now = timezone.now()
    looks = accounts.holds(account, VIEWERS)
    secrets = _secrets(person(account), now)
    return {
        "tokens": _tokens(now) if looks else [],
        "certificates": [c for c in server_certificates() if c["soon"]] if looks else [],
        "secrets": secrets[:_MOST],
        "more": len(secrets) > _MOST,
    }


def server_certificates() -> list[Answer]:
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
                "soon": ends < timezone.now().astimezone(UTC) + SOON,
            }
        )
    return rows


def _tokens(now: datetime) -> list[Answer]:
    rows = ApiToken.objects.filter(
        revoked_at=None, expires_at__gt=now, expires_at__lt=now + SOON
    ).select_related("tenant")
    return [
        {
            "id": token.pk,
            "user": token.user,
            "tenant": token.tenant.name if token.tenant else "",
            "expires": format_optional_time(token.expires_at),
        }
        for token in rows.order_by("expires_at")[:_MOST]
    ]


def _secrets(who: Person, now: datetime) -> list[Answer]:
    """One more than are shown, if there are more."""
    ends = (now - SOON, now + SOON)
    having = SearchEntry.objects.filter(ends__range=ends).values("tenant_id")
    tenants = Tenant.objects.filter(pk__in=having)
    names = {tenant.pk: tenant.name for tenant in tenants if may_read_secrets(who, tenant)}
    if not names:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_ENDING, [*ends, list(names), _MOST + 1])
        return [
            {
                "tenant": names[number],
                "namespace": namespace,
                "name": name,
                "expires": format_optional_time(ends),
                "ended": ends <= now,
            }
            for number, namespace, name, ends in cursor.fetchall()
        ]
