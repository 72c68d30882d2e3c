"""Namespaces in which somebody is bound: one's own and those of one's groups, of the tenant that is
asked about, and nobody else's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from apiserver.storage.models import ObjectRow
from apiserver.storage.visibility import django_everywhere
from controlplane.tenancy.models import Tenant

from .conftest import Ask

OWNED, OTHER = "pages-owned", "pages-other"
RBAC = "rbac.authorization.k8s.io"


def binding(tenant: str, namespace: str, kind: str, name: str) -> ObjectRow:
    data: dict[str, Any] = {"subjects": [{"kind": kind, "apiGroup": RBAC, "name": name}]}
    return ObjectRow.objects.create(
        tenant_id=Tenant.objects.get(name=tenant).pk,
        api_group=RBAC,
        resource="rolebindings" if namespace else "clusterrolebindings",
        namespace=namespace,
        name=f"places-{kind}-{name}".lower(),
        uid=uuid.uuid4(),
        resource_version=1,
        data={"metadata": {"name": "bound", "namespace": namespace}, **data},
        finalizers=[],
        deleting=False,
        created_at=timezone.now(),
        size=1,
    )


@pytest.fixture(autouse=True)
def rows(people: dict[str, User]) -> Iterator[None]:
    with django_everywhere():
        made = [
            binding(OWNED, "shop", "User", "ann"),
            binding(OWNED, "shop", "Group", "dev"),
            binding(OWNED, "lab", "Group", "dev"),
            binding(OWNED, "secret", "User", "owner"),
            binding(OWNED, "", "User", "ann"),
            binding(OTHER, "elsewhere", "User", "ann"),
        ]
        yield
        for row in made:
            row.delete()


@pytest.mark.parametrize(
    ("who", "tenant", "namespaces"),
    [
        ("ann", OWNED, ["lab", "shop"]),
        ("ann", OTHER, ["elsewhere"]),
        ("looker", OWNED, []),
        ("owner", OWNED, ["secret"]),
        ("ann", "there-is-none", []),
    ],
)
def test_one_is_told_where_one_is_bound(
    ask: Ask, who: str, tenant: str, namespaces: list[str]
) -> None:
    assert ask(who, "GET", f"tenants/{tenant}/namespaces") == (200, {"namespaces": namespaces})


def test_nobody_is_told_nothing(ask: Ask) -> None:
    assert ask("", "GET", f"tenants/{OWNED}/namespaces")[0] == 401
