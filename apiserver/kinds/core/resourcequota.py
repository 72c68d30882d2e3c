"""ResourceQuota."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.amounts import round_members
from apiserver.kinds.common.resources import amount, quota_resource_name
from apiserver.kinds.core.quota_scopes import scope_selector_errors, scopes_errors
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.quantity import parse_quantity
from apiserver.meta.times import age

_BARE_REQUESTS = ("cpu", "memory")
"""What also counts as requests by its bare name."""


@register("", "ResourceQuota")
class ResourceQuota(Kind):
    metadata_again = False
    returns_deleted = True
    generation = False
    status = True

    def default(self, obj: Object, version: str) -> None:
        round_members(obj.get("spec"), "hard")
        round_members(obj.setdefault("status", {}), "hard", "used")

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {}

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj.get("spec") or {}
        return [
            *_amounts(spec.get("hard"), FieldPath("spec.hard")),
            *c.few(scopes_errors(spec)),
            *c.few(scope_selector_errors(spec)),
        ]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        new, before = ((o.get("spec") or {}).get("scopes") or [] for o in (obj, old))
        if set(new) == set(before):
            return []
        return [invalid("spec.scopes", obj["spec"].get("scopes"), c.IMMUTABLE)]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if old is not None:
            return []
        return list(_requests_above_limits((obj.get("spec") or {}).get("hard") or {}))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        status, path = obj.get("status") or {}, FieldPath("status")
        return [
            e
            for member in ("hard", "used")
            for e in _amounts(status.get(member), path.child(member))
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, status = obj["metadata"], obj.get("status") or {}
        used: dict[str, str] = status.get("used") or {}
        columns: dict[bool, list[str]] = {True: [], False: []}
        for name, hard in sorted((status.get("hard") or {}).items()):
            columns[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard}")
        return [
            metadata["name"],
            ", ".join(columns[False]),
            ", ".join(columns[True]),
            age(metadata.get("creationTimestamp"), now),
        ]


def _requests_above_limits(hard: Mapping[str, str]) -> Iterator[str]:
    for name in ("cpu", "memory", "storage", "ephemeral-storage"):
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in _BARE_REQUESTS:
            request = name
        if request not in hard or limit not in hard:
            continue
        if parse_quantity(hard[request]).compare(parse_quantity(hard[limit])) > 0:
            yield (
                f"ResourceQuota {request} ({hard[request]}) should be less than "
                f"{limit} ({hard[limit]})"
            )


def _amounts(amounts: dict[str, str] | None, path: FieldPath) -> c.Errors:
    for name, value in sorted((amounts or {}).items()):
        yield from quota_resource_name(name, path.key(name))
        yield from amount(name, value, path.key(name))
