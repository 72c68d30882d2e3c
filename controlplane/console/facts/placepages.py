"""In which namespaces of a tenant somebody is bound: who may not list namespaces has to begin with
one of these."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest

from controlplane.console.facts.asking import Answer, asked
from controlplane.console.facts.tokenrights import person
from controlplane.tenancy.models import Tenant

_MOST = 500
_BOUND = """
SELECT DISTINCT o.namespace FROM bound_subjects b
JOIN objects o ON o.uid = b.uid AND o.tenant_id = b.tenant_id
WHERE b.tenant_id = %s AND b.subject = ANY(%s::text[]) AND o.namespace <> ''
ORDER BY 1 LIMIT %s
"""


@asked("GET")
def bound(account: User, request: HttpRequest, name: str) -> Answer:
    """Namespaces of RoleBindings that name the account or a group of its; none of a tenant that is
    not there."""
    who = person(account)
    subjects = [f"User:{who.name}", *(f"Group:{group}" for group in sorted(who.groups))]
    tenant = Tenant.objects.filter(name=name).first()
    if tenant is None:
        return {"namespaces": []}
    with connection.cursor() as cursor:
        cursor.execute(_BOUND, [tenant.pk, subjects, _MOST])
        return {"namespaces": [namespace for (namespace,) in cursor.fetchall()]}
