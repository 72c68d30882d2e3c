"""What a Tenant object and a tenant's row both say, in one form, and what to do about the two.

Neither leads for good: an object is changed by who may, a row by commands. Both are brought to what
was changed last, member by member, measured by what they agreed on before (`Tenant.declared`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from apiserver.meta.objects import Object
from apiserver.meta.times import format_optional_time, format_time
from controlplane.tenancy.models import Tenant

Declaration = dict[str, Any]
"""Member → value as JSON; what says nothing is None, "", False or empty."""

FINALIZER = "tenancy.polyplane.dev/tenant"
_QUOTAS = {
    name.removeprefix("max_").split("_")[0]
    + "".join(part.capitalize() for part in name.removeprefix("max_").split("_")[1:]): name
    for name in Tenant.QUOTAS
}
"""Members of spec.quotas (``logBytes``) and the row's columns (``max_log_bytes``)."""


class Step(Enum):
    """What to do about an object and a row of one name."""

    NOTHING = "nothing"
    MAKE_ROW = "make the tenant"
    MAKE_OBJECT = "make the object"
    AGREE = "bring both to what was changed last"
    ADOPT = "bring the object to the row"
    DROP_TENANT = "delete the tenant"
    DROP_OBJECT = "delete the object"
    RELEASE = "take the finalizer away"
    HOLD = "wait until the protection is taken off"


def step(obj: Object | None, row: Tenant | None, *, departed: bool) -> Step:
    """departed: a command has deleted the tenant that the object stands for."""
    if obj is None:
        if row is None:
            return Step.NOTHING
        return Step.DROP_TENANT if row.state == Tenant.State.DELETING else Step.MAKE_OBJECT
    if obj["metadata"].get("deletionTimestamp"):
        return _leaving(obj, row)
    if row is None:
        return Step.DROP_OBJECT if departed else Step.MAKE_ROW
    if row.state == Tenant.State.DELETING:
        return Step.DROP_TENANT
    return Step.AGREE if row.object_uid == obj["metadata"]["uid"] else Step.ADOPT


def _leaving(obj: Object, row: Tenant | None) -> Step:
    """An object that was never the tenant's takes none with it."""
    if FINALIZER not in (obj["metadata"].get("finalizers") or ()):
        return Step.NOTHING
    if row is None or row.object_uid not in ("", obj["metadata"]["uid"]):
        return Step.RELEASE
    if row.state == Tenant.State.DELETING:
        return Step.DROP_TENANT
    if row.object_uid == "":
        return Step.RELEASE
    protected = (obj.get("spec") or {}).get("deletionProtection")
    return Step.HOLD if protected else Step.DROP_TENANT


def of_object(obj: Object) -> Declaration:
    spec, metadata = obj.get("spec") or {}, obj["metadata"]
    quotas = spec.get("quotas") or {}
    return {
        "displayName": spec.get("displayName") or "",
        "labels": metadata.get("labels") or {},
        "owners": sorted({f"{o['kind']}:{o['name']}" for o in spec.get("owners") or ()}),
        "templates": [t["name"] for t in spec.get("templates") or ()],
        "quotas": {name: value for name, value in sorted(quotas.items()) if value is not None},
        "retentionSeconds": spec.get("retentionSeconds"),
        "controllersOff": sorted(spec.get("controllersOff") or ()),
        "suspended": bool(spec.get("suspended")),
        "deletionProtection": bool(spec.get("deletionProtection")),
        "expiresAt": _expiry(spec, metadata),
    }


def _expiry(spec: Object, metadata: Object) -> str | None:
    if at := spec.get("expiresAt"):
        return format_time(parse_time(at))
    if (seconds := spec.get("ttlSeconds")) is None:
        return None
    return format_time(parse_time(metadata["creationTimestamp"]) + timedelta(seconds=seconds))


def parse_time(text: str) -> datetime:
    """RFC 3339."""
    return datetime.fromisoformat(text)


def of_row(row: Tenant) -> Declaration:
    quotas = {name: getattr(row, column) for name, column in sorted(_QUOTAS.items())}
    return {
        "displayName": row.display_name,
        "labels": dict(row.labels),
        "owners": sorted(row.owners),
        "templates": list(row.templates),
        "quotas": {name: value for name, value in quotas.items() if value is not None},
        "retentionSeconds": row.retention_seconds,
        "controllersOff": sorted(row.controllers_off),
        "suspended": row.state == Tenant.State.SUSPENDED,
        "deletionProtection": row.deletion_protection,
        "expiresAt": format_optional_time(row.expires_at),
    }


def agreed(
    before: Declaration | None, obj: Declaration, row: Declaration, *, row_leads: bool = False
) -> Declaration:
    """What both shall say: of each member what the object changed since ``before``, else what the
    row says. Without a ``before``, or where ``row_leads``, the row's word counts: an object that
    comes later than the tenant takes nothing over. What a tenant is made from stays."""
    if before is None or row_leads:
        return dict(row)
    said = {name: obj[name] if obj[name] != before.get(name) else row[name] for name in row}
    return {**said, "templates": row["templates"]}


def into_row(row: Tenant, said: Mapping[str, Any]) -> None:
    """In place; who saves it checks it (`full_clean`)."""
    row.display_name, row.labels = said["displayName"], said["labels"]
    row.owners, row.templates = said["owners"], said["templates"]
    for name, column in _QUOTAS.items():
        setattr(row, column, said["quotas"].get(name))
    row.retention_seconds, row.controllers_off = said["retentionSeconds"], said["controllersOff"]
    if row.state != Tenant.State.DELETING:
        state = Tenant.State.SUSPENDED if said["suspended"] else Tenant.State.ACTIVE
        row.state = state
    row.deletion_protection = said["deletionProtection"]
    expires = said["expiresAt"]
    row.expires_at = parse_time(expires) if expires else None


def into_object(obj: Object, said: Declaration) -> bool:
    """Brings the object to it, in place, and touches only what says something else; whether
    anything did."""
    is_now, spec = of_object(obj), obj.setdefault("spec", {})
    different = [name for name, value in said.items() if is_now[name] != value]
    for name in different:
        value = said[name]
        if name == "labels":
            obj["metadata"]["labels"] = dict(value)
            continue
        if name == "expiresAt":
            spec.pop("ttlSeconds", None)
        if name == "owners":
            value = [_subject(owner) for owner in value]
        elif name == "templates":
            value = [{"name": template} for template in value]
        if value in (None, "", False, [], {}):
            spec.pop(name, None)
        else:
            spec[name] = value
    return bool(different)


def _subject(owner: str) -> Object:
    kind, _, name = owner.partition(":")
    return {"kind": kind, "name": name}
