"""LimitRange."""

from __future__ import annotations

import math

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, forbidden, invalid, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.amounts import round_members
from apiserver.kinds.common.resources import container_resource_name, may_overcommit, resource_name
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity, parse_quantity

CONTAINER, POD, CLAIM = "Container", "Pod", "PersistentVolumeClaim"
_MEMBERS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_LARGEST_FOR_MILLI = (1 << 63) // 1000


@register("", "LimitRange")
class LimitRange(Kind):
    allow_create_on_update = True
    generation = False
    metadata_update = False

    def default(self, obj: Object, version: str) -> None:
        for item in (obj.get("spec") or {}).get("limits") or []:
            if item.get("type") == CONTAINER:
                _default_container(item)
            round_members(item, *_MEMBERS)

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        metadata = obj["metadata"]
        metadata["name"] = metadata.get("name") or names.random_uid()

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        seen: set[str] = set()
        errors: FieldErrors = []
        for i, item in enumerate((obj.get("spec") or {}).get("limits") or []):
            path, kind = FieldPath("spec.limits").at(i), item.get("type", "")
            errors += _type_name(kind, path.child("type"))
            if kind in seen:
                errors.append(duplicate(path.child("type"), kind))
            seen.add(kind)
            errors += _item(item, kind, path)
        return errors


def _default_container(item: Object) -> None:
    """The limit by default is the maximum; the request by default is the limit, else the
    minimum."""
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    for member, values in (("default", limits), ("defaultRequest", requests)):
        if values:
            item[member] = values


def _type_name(kind: str, path: FieldPath) -> c.Errors:
    wrong = list(c.qualified_name(kind, path))
    yield from wrong
    if not wrong and "/" not in kind and kind not in (CONTAINER, POD, CLAIM):
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _item(item: Object, kind: str, path: FieldPath) -> c.Errors:
    name_errors = container_resource_name if kind in (CONTAINER, POD) else resource_name
    for member in _MEMBERS:
        values = item.get(member) or {}
        if kind == POD and member in ("default", "defaultRequest"):
            if values:
                yield forbidden(path.child(member), "may not be specified when `type` is 'Pod'")
            continue
        for name in sorted(values):
            yield from name_errors(name, path.child(member).key(name))
    if kind == CLAIM and not any(
        "storage" in (item.get(member) or {}) for member in ("min", "max")
    ):
        why = "either minimum or maximum storage value is required, but neither was provided"
        yield required(path.child("limits"), why)
    used = ("max", "min") if kind == POD else _MEMBERS[:4]
    for name in sorted(
        {n for member in (*used, "maxLimitRequestRatio") for n in item.get(member) or {}}
    ):
        amounts = {
            m: parse_quantity((item.get(m) or {})[name])
            for m in (*used, "maxLimitRequestRatio")
            if name in (item.get(m) or {})
        }
        yield from _order(amounts, name, path)
        yield from _ratio(amounts, path.child("maxLimitRequestRatio").key(name))


_ORDER = (
    # smaller, greater, member that is blamed, value that is shown, text
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def _order(amounts: dict[str, Quantity], name: str, path: FieldPath) -> c.Errors:
    for small, great, blamed, bound_text, text in _ORDER:
        if small in amounts and great in amounts and amounts[small] > amounts[great]:
            yield invalid(
                path.child(blamed).key(name),
                str(amounts[bound_text]),
                text.format(amounts[small], amounts[great]),
            )
    limit, request = amounts.get("default"), amounts.get("defaultRequest")
    if not may_overcommit(name) and limit is not None and request is not None and limit != request:
        why = f"default value {limit} must equal to defaultRequest value {request} in {name}"
        yield invalid(path.child("defaultRequest").key(name), str(request), why)


def _ratio(amounts: dict[str, Quantity], path: FieldPath) -> c.Errors:
    ratio, least, most = amounts.get("maxLimitRequestRatio"), amounts.get("min"), amounts.get("max")
    if ratio is None:
        return
    if ratio < parse_quantity("1"):
        yield invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    if least is None or most is None or least.is_zero:
        return
    scale = -3 if all(_int64(q, 0) < _LARGEST_FOR_MILLI for q in (ratio, least, most)) else 0
    divisor = _int64(least, scale)
    possible = _int64(most, scale) / divisor if divisor else math.inf
    if _int64(ratio, scale) / (1000 if scale else 1) > possible:
        yield invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {possible:f}")


def _int64(amount: Quantity, scale: int) -> int:
    """What Go makes of an amount beyond its numbers: its lowest 64 bits."""
    return (amount.scaled(scale) + (1 << 63)) % (1 << 64) - (1 << 63)
