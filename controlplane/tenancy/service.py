"""What can be done to a tenant. The row, its sequence and its limits are written in one transaction."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from apiserver.storage import tenants as storage
from controlplane.errors import OperatorError
from controlplane.tenancy.models import Tenant

DEFAULT = "default"


def create_tenant(name: str, *, display_name: str = "", **quotas: int | None) -> Tenant:
    """A new active tenant; ``quotas`` are quota columns of the model. Raises OperatorError for a bad or taken name
    and for a limit that is too small."""
    tenant = Tenant(name=name, display_name=display_name, **quotas)
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
            f'There is no tenant "{name}".', "`manage.py tenant list` shows all; `manage.py tenant create NAME` makes one."
        ) from None


def ensure_tenant(name: str, **options: Any) -> bool:
    """Creates the tenant unless it is there; whether it was created."""
    if Tenant.objects.filter(name=name).exists():
        return False
    create_tenant(name, **options)
    return True


def set_quotas(tenant: Tenant, **quotas: int | None) -> None:
    """Changes the named quota columns; None lifts the limit. Raises OperatorError for a limit that is too small."""
    for field, value in quotas.items():
        setattr(tenant, field, value)
    try:
        tenant.full_clean()
    except ValidationError as e:
        problem = "; ".join(e.messages)
        raise OperatorError(f'Limits of tenant "{tenant.name}" cannot be set: {problem}', "choose other limits, or none.") from e
    with transaction.atomic():
        tenant.save(update_fields=list(quotas))
        apply_limits(tenant)


def apply_limits(tenant: Tenant) -> None:
    """Hands the limits that storage enforces to storage."""
    retention = None if tenant.retention_seconds is None else timedelta(seconds=tenant.retention_seconds)
    storage.set_limits(tenant.pk, max_objects=tenant.max_objects, max_bytes=tenant.max_bytes, retention=retention)


def suspend(name: str) -> None:
    """Requests to a suspended tenant are refused within two seconds; nothing is lost."""
    _set_state(name, Tenant.State.SUSPENDED)


def resume(name: str) -> None:
    _set_state(name, Tenant.State.ACTIVE)


def _set_state(name: str, state: Tenant.State) -> None:
    tenant = get_tenant(name)
    if tenant.state == Tenant.State.DELETING:
        raise OperatorError(f'Tenant "{name}" is being deleted.', f"finish with: manage.py tenant delete {name} --yes")
    tenant.state = state
    tenant.save(update_fields=["state"])


def delete_tenant(name: str) -> None:
    """Removes the tenant with all its objects, events and tokens. First closes it to requests in a transaction of its own, so that a
    deletion that is cut short leaves a tenant that can only be deleted again."""
    tenant = get_tenant(name)
    if name == DEFAULT:
        raise OperatorError(f'Tenant "{DEFAULT}" answers URLs without /clusters/ and stays.', "delete its objects with kubectl instead.")
    tenant.state = Tenant.State.DELETING
    tenant.save(update_fields=["state"])
    with transaction.atomic():
        storage.drop(tenant.pk)
        tenant.delete()
