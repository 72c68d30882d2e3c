"""Tenants: names, limits that reach storage, states, deletion."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest

from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.meta.times import now
from apiserver.storage import tenants as storage
from apiserver.storage.models import ObjectRow, TenantHead
from apiserver.storage.visibility import django_everywhere, django_within
from controlplane.errors import OperatorError
from controlplane.tenancy import rows, service, tokens
from controlplane.tenancy.models import SMALLEST, ApiToken, Tenant

pytestmark = pytest.mark.usefixtures("postgres")
_numbers = itertools.count()


def fresh() -> str:
    return f"service-{next(_numbers)}"


def head_of(number: int) -> TenantHead | None:
    with django_everywhere():
        return TenantHead.objects.filter(pk=number).first()


def heads() -> int:
    with django_everywhere():
        return TenantHead.objects.count()


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64, "a\n", "é"])
def test_name_is_a_dns_label(name: str) -> None:
    with pytest.raises(OperatorError, match="cannot be created"):
        service.create_tenant(name)


def test_new_tenant_has_a_head_and_its_limits() -> None:
    tenant = service.create_tenant(fresh(), max_objects=500, max_bytes=10**6, retention_seconds=60)
    head = head_of(tenant.pk)
    assert head is not None
    assert (head.max_objects, head.max_bytes, head.retention) == (500, 10**6, timedelta(seconds=60))
    service.set_quotas(tenant, max_objects=None)
    head = head_of(tenant.pk)
    assert head is not None and head.max_objects == service.default_limit("objects")


@pytest.mark.parametrize("limit", [{"max_objects": 5}, {"max_bytes": 1000}])
def test_a_limit_that_would_not_hold_what_every_tenant_has_is_refused(
    limit: dict[str, int],
) -> None:
    with pytest.raises(OperatorError, match="at least"):
        service.create_tenant(fresh(), **limit)
    tenant = service.create_tenant(fresh())
    with pytest.raises(OperatorError, match="at least"):
        service.set_quotas(tenant, **limit)


def test_the_option_of_a_limit_that_is_too_small_is_named() -> None:
    limits = {"max_objects": 220, "max_hour_bytes": 400_000}
    with pytest.raises(OperatorError, match=r"--max-hour-bytes: .*at least") as refused:
        service.create_tenant(fresh(), **limits)
    assert "--max-objects" not in refused.value.problem
    tenant = service.create_tenant(fresh())
    with pytest.raises(OperatorError, match=r"--max-bytes: .*; --max-log-bytes: "):
        service.set_quotas(tenant, max_bytes=1, max_log_bytes=2, max_objects=300)


def test_a_template_that_is_not_there_is_refused_before_anything_is_made() -> None:
    service.ensure_tenant("default")
    home, name = service.get_tenant("default"), fresh()
    before = heads()
    with pytest.raises(OperatorError, match='no TenantTemplate "nope"'):
        service.create_tenant(name, templates=["nope"])
    with django_within(home.pk):
        ObjectRow.objects.create(
            tenant_id=home.pk,
            api_group="tenancy.polyplane.dev",
            resource="tenanttemplates",
            namespace="",
            name="std",
            uid=uuid4(),
            resource_version=1,
            data={},
            created_at=now(),
            size=1,
        )
    try:
        with pytest.raises(OperatorError, match='no TenantTemplate "nope"') as refused:
            service.create_tenant(name, templates=["std", "nope"])
        assert "std" in refused.value.fix.removeprefix("there are ").rstrip(".").split(", ")
        assert heads() == before and not Tenant.objects.filter(name=name).exists()
        assert service.create_tenant(name, templates=["std"]).templates == ["std"]
    finally:
        with django_within(home.pk):
            ObjectRow.objects.filter(tenant_id=home.pk, name="std").delete()


def test_the_smallest_limits_hold_what_every_tenant_has() -> None:
    objects = bootstrap_objects(now())
    beside = 2 * (sum(o["kind"] == "Namespace" for o in objects) + 1)
    assert len(objects) + beside <= SMALLEST["max_objects"], "an account and a CA in each namespace"
    assert 2 * sum(len(json.dumps(o)) for o in objects) <= SMALLEST["max_bytes"], (
        "managedFields make half of it again"
    )


def test_taken_name_is_refused_and_leaves_nothing() -> None:
    name = fresh()
    service.create_tenant(name)
    before = heads()
    with pytest.raises(OperatorError, match="already exists"):
        service.create_tenant(name)
    assert heads() == before


def test_suspend_and_resume() -> None:
    name = fresh()
    service.create_tenant(name)
    service.suspend(name)
    assert service.get_tenant(name).state == "suspended"
    service.resume(name)
    assert service.get_tenant(name).state == "active"


def test_deletion_removes_the_row_the_head_and_the_tokens() -> None:
    tenant = service.create_tenant(fresh())
    token = tokens.create_token("ann", tenant=tenant).token
    number, name = tenant.pk, tenant.name
    service.delete_tenant(name)
    assert not Tenant.objects.filter(name=name).exists()
    assert head_of(number) is None
    with django_everywhere():
        assert not ApiToken.objects.filter(pk=token.pk).exists()
    service.create_tenant(name)


def test_deletion_cut_short_can_only_be_finished() -> None:
    name = fresh()
    tenant = service.create_tenant(name)
    tenant.state = Tenant.State.DELETING
    tenant.save()
    with pytest.raises(OperatorError, match="is being deleted"):
        service.resume(name)
    service.delete_tenant(name)


def by_command(tenant: Tenant) -> None:
    service.delete_tenant(tenant.name)


def by_the_controller(tenant: Tenant) -> None:
    rows.close([tenant])
    rows.drop([tenant])


@pytest.mark.parametrize("delete", [by_command, by_the_controller])
@pytest.mark.parametrize("closed", [False, True], ids=["at-first", "after-a-crash"])
def test_what_is_stored_goes_in_pieces_when_nobody_sees_it_any_more(
    monkeypatch: pytest.MonkeyPatch, delete: Callable[[Tenant], None], closed: bool
) -> None:
    tenant, real = service.create_tenant(fresh()), storage.drop_some
    heads_then: list[TenantHead | None] = []

    def drop_some(number: int, most: int) -> bool:
        heads_then.append(head_of(number))
        return real(number, most)

    monkeypatch.setattr(storage, "drop_some", drop_some)
    with django_everywhere():  # more than goes at once
        TenantHead.objects.filter(pk=tenant.pk).update(log_bytes=2**30)
    if closed:
        storage.close(tenant.pk)
    delete(tenant)
    assert heads_then and set(heads_then) == {None}
    assert not Tenant.objects.filter(name=tenant.name).exists()


def test_default_stays() -> None:
    service.ensure_tenant("default")
    with pytest.raises(OperatorError, match="stays"):
        service.delete_tenant("default")
