"""What can be done to a tenant. The row, its sequence and its limits are written in one
transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from apiserver.storage import tenants as storage
from apiserver.storage.visibility import django_everywhere
from controlplane import environment
from controlplane.errors import OperatorError
from controlplane.tenancy.models import Tenant

DEFAULT = "default"
DEFAULTS = {
    "objects": ("TENANT_MAX_OBJECTS", 100_000),
    "bytes": ("TENANT_MAX_BYTES", 2**30),
    "log_bytes": ("TENANT_MAX_LOG_BYTES", 8 * 2**30),
    "hour_bytes": ("TENANT_MAX_HOUR_BYTES", 4 * 2**30),
    "definitions": ("TENANT_MAX_DEFINITIONS", 1000),
}
"""Limits of tenants that have none of their own: the setting that says so, and what it is where it
is not set."""


def create_tenant(
    name: str,
    *,
    display_name: str = "",
    controllers_off: Sequence[str] = (),
    **quotas: int | None,
) -> Tenant:
    """A new active tenant; ``quotas`` are quota columns of the model. Raises OperatorError for a
    bad or taken name and for a limit that is too small."""
    tenant = Tenant(
        name=name, display_name=display_name, controllers_off=list(controllers_off), **quotas
    )
    try:
        tenant.full_clean()
    except ValidationError as e:
        problem = "; ".join(e.messages)
        hint = "choose another name; `manage.py tenant list` shows those in use."
        if "name" not in e.message_dict:
            hint = "choose other limits, or none."
        raise OperatorError(f'Tenant "{name}" cannot be created: {problem}', hint) from e
    with transaction.atomic():
        tenant.save(force_insert=True)
        storage.create(tenant.pk)
        apply_limits(tenant)
    return tenant


def get_tenant(name: str) -> Tenant:
    try:
        return Tenant.objects.get(name=name)
    except Tenant.DoesNotExist:
        raise OperatorError(
            f'There is no tenant "{name}".',
            "`manage.py tenant list` shows all; `manage.py tenant create NAME` makes one.",
        ) from None


def ensure_tenant(name: str, **options: Any) -> bool:
    """Creates the tenant unless it is there; whether it was created."""
    if Tenant.objects.filter(name=name).exists():
        return False
    create_tenant(name, **options)
    return True


def set_quotas(tenant: Tenant, **quotas: int | None) -> None:
    """Changes the named quota columns, in running workers from the next write on (watches,
    requests: within two seconds); None is the installation's default. Raises OperatorError for a
    limit that is too small."""
    for field, value in quotas.items():
        setattr(tenant, field, value)
    try:
        tenant.full_clean()
    except ValidationError as e:
        problem = "; ".join(e.messages)
        raise OperatorError(
            f'Limits of tenant "{tenant.name}" cannot be set: {problem}',
            "choose other limits, or none.",
        ) from e
    with transaction.atomic():
        tenant.save(update_fields=list(quotas))
        apply_limits(tenant)


def turn_controllers_off(tenant: Tenant, names: Sequence[str]) -> None:
    """These and no others (apiserver.controllers.names); running workers follow at once."""
    tenant.controllers_off = list(names)
    tenant.save(update_fields=["controllers_off"])


def default_limit(name: str) -> int | None:
    """The installation's limit for tenants that have none of their own; None (0 in the setting)
    does not limit."""
    setting, value = DEFAULTS[name]
    return environment.number(setting, value, most=2**60) or None


def apply_limits(tenant: Tenant) -> None:
    """Hands the limits that storage enforces to storage."""
    retention = (
        None if tenant.retention_seconds is None else timedelta(seconds=tenant.retention_seconds)
    )
    own = {name: getattr(tenant, f"max_{name}") for name in DEFAULTS}
    limits = {name: default_limit(name) if value is None else value for name, value in own.items()}
    storage.set_limits(tenant.pk, storage.Limits(**limits), retention=retention)


def apply_default_limits() -> None:
    """After a start, when the defaults may be others than before: hands limits to storage for all
    tenants whose limits differ."""
    columns = [f"max_{name}" for name in DEFAULTS]
    held = ", ".join(f"h.{column}" for column in columns)
    due = ", ".join(f"coalesce(t.{column}, %s)" for column in columns)
    statement = f"""
        UPDATE tenant_heads h SET ({", ".join(columns)}) = ROW({due}) FROM tenancy_tenant t
        WHERE t.id = h.tenant_id AND ROW({held}) IS DISTINCT FROM ROW({due})
    """  # noqa: S608  constant columns
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute(statement, [default_limit(name) for name in DEFAULTS] * 2)


def suspend(name: str) -> None:
    """Requests to a suspended tenant are refused within two seconds; nothing is lost."""
    _set_state(name, Tenant.State.SUSPENDED)


def resume(name: str) -> None:
    _set_state(name, Tenant.State.ACTIVE)


def _set_state(name: str, state: Tenant.State) -> None:
    tenant = get_tenant(name)
    if tenant.state == Tenant.State.DELETING:
        raise OperatorError(
            f'Tenant "{name}" is being deleted.',
            f"finish with: manage.py tenant delete {name} --yes",
        )
    tenant.state = state
    tenant.save(update_fields=["state"])


def delete_tenant(name: str) -> None:
    """Removes the tenant with all its objects, events and tokens. First closes it to requests in a
    transaction of its own, so that a deletion that is cut short leaves a tenant that can only be
    deleted again."""
    tenant = get_tenant(name)
    if name == DEFAULT:
        raise OperatorError(
            f'Tenant "{DEFAULT}" answers URLs without /clusters/ and stays.',
            "delete its objects with kubectl instead.",
        )
    tenant.state = Tenant.State.DELETING
    tenant.save(update_fields=["state"])
    with django_everywhere():  # and its tokens
        storage.drop(tenant.pk)
        tenant.delete()
