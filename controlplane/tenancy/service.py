"""What can be done to a tenant. The row, its sequence and its limits are written in one
transaction."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Length

from apiserver.request import TENANCY_GROUP
from apiserver.storage import tenants as storage
from apiserver.storage.models import ObjectRow
from apiserver.storage.visibility import django_everywhere, django_within
from controlplane import environment
from controlplane.errors import OperatorError
from controlplane.tenancy.models import PLAIN_DEFAULT, Departed, Tenant

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


_NOT_OF_DEFAULT = ("owners", "templates", "expires_at")
_RETENTION = "make_interval(secs => t.retention_seconds)"


TOGETHER = 100
"""Tenants that one transaction makes."""


def create_tenant(name: str, **columns: Any) -> Tenant:
    """A new active tenant; ``columns``: others of the model, such as its quotas. Raises
    OperatorError for a bad or taken name and for a limit that is too small."""
    return create_tenants([name], **columns)[0]


def create_tenants(names: Sequence[str], **columns: Any) -> list[Tenant]:
    """New active tenants that say the same, `TOGETHER` in each transaction. Raises OperatorError
    before anything is made, as `create_tenant`, and for a template that is not there."""
    _check_templates(columns.get("templates") or [])
    rows = [Tenant(name=name, **columns) for name in names]
    taken = set(Tenant.objects.filter(name__in=names).values_list("name", flat=True))
    seen = set[str]()
    for row in rows:
        problem, hint = _problem(row), "choose other limits, or none."
        if problem is None and row.name in taken | seen:
            problem = {"name": ["Tenant with this Name already exists."]}
        if problem is not None:
            if "name" in problem:
                hint = "choose another name; `manage.py tenant list` shows those in use."
            raise OperatorError(f'Tenant "{row.name}" cannot be created: {_told(problem)}', hint)
        seen.add(row.name)
    for i in range(0, len(rows), TOGETHER):
        insert(rows[i : i + TOGETHER])
    return rows


def _check_templates(names: Sequence[str]) -> None:
    """A server would wait for them, and the tenants with it."""
    if not names:
        return
    home = Tenant.objects.filter(name=DEFAULT).values_list("pk", flat=True).first() or 0
    with django_within(home):
        rows = ObjectRow.objects.filter(
            tenant_id=home, api_group=TENANCY_GROUP, resource="tenanttemplates"
        )
        there = sorted(rows.values_list("name", flat=True))
    if missing := [name for name in names if name not in there]:
        raise OperatorError(
            f'There is no TenantTemplate "{missing[0]}" in tenant {DEFAULT}.',
            f"there are {', '.join(there)}." if there else "make it first, or leave it out.",
        )


def _told(problem: dict[str, list[str]]) -> str:
    """What a limit is refused for begins with the option that sets it."""
    limits = (*Tenant.QUOTAS, "retention_seconds")
    return "; ".join(
        f"--{field.replace('_', '-')}: {message}" if field in limits else message
        for field, messages in problem.items()
        for message in messages
    )


def _problem(row: Tenant) -> dict[str, list[str]] | None:
    try:
        clean(row)
    except ValidationError as e:
        problems: dict[str, list[str]] = e.message_dict
        return problems
    return None


def clean(row: Tenant) -> None:
    """Raises ValidationError for columns that cannot be. Nothing is asked of the database, which
    Django would ask for each constraint of each row: what those say, validators of the columns say
    as well, and whether a name is taken the insertion shows."""
    row.full_clean(validate_unique=False, validate_constraints=False)


def insert(rows: Sequence[Tenant]) -> None:
    """The rows with their places in storage and their limits, in one transaction. Raises
    IntegrityError: none is there then."""
    with transaction.atomic():
        numbers = [row.pk for row in Tenant.objects.bulk_create(rows)]
        storage.create(*numbers)
        apply_default_limits(numbers)


def get_tenant(name: str) -> Tenant:
    try:
        return Tenant.objects.get(name=name)
    except Tenant.DoesNotExist:
        near = " or ".join(_near(name))
        raise OperatorError(
            f'There is no tenant "{name}".',
            (f"did you mean {near}? " if near else "")
            + "`manage.py tenant list` shows all; `manage.py tenant create NAME` makes one.",
        ) from None


def _near(name: str) -> list[str]:
    """Names of tenants that may be meant, the nearest first: for commands, whose user sees all.
    Only those of about that length are compared, of a hundred thousand within a second."""
    rows = Tenant.objects.annotate(long=Length("name"))
    alike = rows.filter(long__gte=len(name) - 2, long__lte=len(name) + 2)
    names = sorted(alike.values_list("name", flat=True))
    return difflib.get_close_matches(name, names, n=3, cutoff=0.7)


def one_or_all(name: str) -> list[Tenant]:
    """The tenant of that name; all, in the order of names, for "". Raises OperatorError."""
    return [get_tenant(name)] if name else list(Tenant.objects.order_by("name"))


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
    check(tenant)
    with transaction.atomic():
        _save(tenant, *quotas)
        apply_limits(tenant)


def check(tenant: Tenant) -> None:
    """Raises OperatorError for limits that are too small."""
    try:
        clean(tenant)
    except ValidationError as e:
        raise OperatorError(
            f'Limits of tenant "{tenant.name}" cannot be set: {_told(e.message_dict)}',
            "choose other limits, or none.",
        ) from e


def change(tenant: Tenant, **columns: Any) -> None:
    """Display name, labels, owners, templates, expiry or protection; the object of the tenant
    follows, and with it the binding of its owners. Raises OperatorError for what tenant default
    cannot have: its object would take it back."""
    if tenant.name == DEFAULT and any(columns.get(name) for name in _NOT_OF_DEFAULT):
        raise _plain_default()
    for column, value in columns.items():
        setattr(tenant, column, value)
    _save(tenant, *columns)


def _save(tenant: Tenant, *columns: str) -> None:
    """Only these, and the count that tells the Tenant object of it."""
    with transaction.atomic():
        Tenant.objects.filter(pk=tenant.pk).update(revision=F("revision") + 1)
        tenant.save(update_fields=columns)


def turn_controllers_off(tenant: Tenant, names: Sequence[str]) -> None:
    """These and no others (apiserver.controllers.names); running workers follow at once."""
    tenant.controllers_off = list(names)
    _save(tenant, "controllers_off")


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


def apply_default_limits(only: Sequence[int] | None = None) -> None:
    """After a start, when the defaults may be others than before, and for many new tenants
    (``only``): hands limits to storage for all tenants whose limits differ."""
    columns = [f"max_{name}" for name in DEFAULTS]
    held = ", ".join([*(f"h.{column}" for column in columns), "h.retention"])
    due = ", ".join([*(f"coalesce(t.{column}, %s)" for column in columns), _RETENTION])
    statement = f"""
        UPDATE tenant_heads h SET ({", ".join(columns)}, retention) = ROW({due})
        FROM tenancy_tenant t WHERE t.id = h.tenant_id AND ROW({held}) IS DISTINCT FROM ROW({due})
    """  # noqa: S608  constant columns
    parameters: list[Any] = [default_limit(name) for name in DEFAULTS] * 2
    if only is not None:
        statement += " AND t.id = ANY(%s)"
        parameters.append(list(only))
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def suspend(name: str) -> None:
    """Requests to a suspended tenant are refused within two seconds; nothing is lost."""
    _set_state(name, Tenant.State.SUSPENDED)


def resume(name: str) -> None:
    _set_state(name, Tenant.State.ACTIVE)


def _set_state(name: str, state: Tenant.State) -> None:
    tenant = get_tenant(name)
    check_state(tenant, state)
    tenant.state = state
    _save(tenant, "state")


def check_state(tenant: Tenant, state: Tenant.State) -> None:
    """Raises OperatorError where the tenant cannot come to it from where it is."""
    if state == Tenant.State.DELETING:
        _check_deletion(tenant)
    elif tenant.state == Tenant.State.DELETING:
        raise OperatorError(
            f'Tenant "{tenant.name}" is being deleted.',
            f"finish with: manage.py tenant delete {tenant.name} --yes",
        )
    elif tenant.name == DEFAULT and state == Tenant.State.SUSPENDED:
        raise _plain_default()


def _plain_default() -> OperatorError:
    return OperatorError(
        f'Tenant "{DEFAULT}" cannot be changed so: {PLAIN_DEFAULT}.',
        "make a tenant for that: manage.py tenant create NAME",
    )


def _check_deletion(tenant: Tenant) -> None:
    if tenant.name == DEFAULT:
        raise OperatorError(
            f'Tenant "{DEFAULT}" answers URLs without /clusters/ and stays.',
            "delete its objects with kubectl instead.",
        )
    if tenant.deletion_protection:
        raise OperatorError(
            f'Tenant "{tenant.name}" is protected from deletion.',
            f"take that off first: manage.py tenant update {tenant.name} --deletion-protection off",
        )


def delete_tenant(name: str) -> None:
    """Removes the tenant with all its objects, events and tokens. First closes it, in transactions
    of their own, so that nobody sees half of it, and a deletion that is cut short leaves a tenant
    that can only be deleted again."""
    tenant = get_tenant(name)
    check_state(tenant, Tenant.State.DELETING)
    tenant.state = Tenant.State.DELETING
    _save(tenant, "state")
    storage.close(tenant.pk)
    while storage.drop_some(tenant.pk, storage.MOST_ROWS):
        pass
    with django_everywhere():  # and its tokens
        storage.drop(tenant.pk)
        if tenant.object_uid:
            Departed.objects.get_or_create(object_uid=tenant.object_uid, name=name)
        tenant.delete()
