"""ResourceQuota: refuses what would exceed a quota of the namespace, and charges what fits to the quota's status.

Source: k8s.io/apiserver ``admission/plugin/resourcequota``. `charge` is pure; the plugin fetches quotas and stores what was charged,
with compare-and-swap, so that two requests never spend the same rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from admission.attributes import Attributes, Lookup
from admission.plugins.quota_scopes import in_scope
from admission.plugins.quota_usage import CLAIMS, PODS, SERVICES, Usage, matching, missing_requirements, usage
from apiserver.errors import Conflict, Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.quantity import Quantity, parse_quantity
from apiserver.meta.times import now

Object = dict[str, Any]
Charges = list[tuple[Object, dict[str, str]]]
"""Quotas whose use changes, each with its whole new status.used."""

Store = Callable[[int, Object, dict[str, str]], Awaitable[None]]
"""(tenant, quota as read, new status.used): stores it if the quota has not changed since, else raises Conflict."""

QUOTAS = GroupResource("", "resourcequotas")
_IGNORED = frozenset(
    {
        GroupResource("", "events"),
        GroupResource("events.k8s.io", "events"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
    }
)
_ON_UPDATE = frozenset({SERVICES, CLAIMS})
_RETRIES = 4


class ResourceQuota:
    name = "ResourceQuota"

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, attributes: Attributes) -> bool:
        resource, operation, subresource = attributes.group_resource, attributes.operation, attributes.subresource
        if not attributes.namespace or attributes.object is None or resource in _IGNORED:
            return False
        if subresource:
            return resource == PODS and subresource == "resize" and operation == "UPDATE"
        return operation == "CREATE" or (operation == "UPDATE" and resource in _ON_UPDATE)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Raises Forbidden; Conflict when other requests were always faster."""
        assert attributes.object is not None
        charged: set[str] = set()
        for attempt in range(_RETRIES):
            quotas = [q for q in await lookup.list(QUOTAS, attributes.namespace) if q["metadata"]["name"] not in charged]
            charges = charge(quotas, attributes.group_resource, attributes.object, attributes.old, now(), attributes.name)
            if attributes.dry_run:
                return
            try:
                for quota, used in charges:
                    await self._store(attributes.tenant, quota, used)
                    charged.add(quota["metadata"]["name"])
            except Conflict:
                if attempt == _RETRIES - 1:
                    raise
            else:
                return


def charge(quotas: Sequence[Object], resource: GroupResource, obj: Object, old: Object | None, at: datetime, name: str = "") -> Charges:
    """What each quota of the namespace will have been used once ``obj`` is written over ``old``. Raises Forbidden.

    An update is charged by what it uses more than before. ``name``: of the object, for the message."""
    relevant = [quota for quota in quotas if _concerns(quota, resource, obj)]
    if not relevant:
        return []
    for quota in relevant:
        _check_countable(quota, resource, obj, name)
    uses = usage(resource, obj, at)
    negative = sorted(n for n, amount in uses.items() if amount.sign < 0)
    if negative:
        raise Forbidden(resource, name, f"quota usage is negative for resource(s): {','.join(negative)}")
    charges: Charges = []
    for quota in relevant:
        delta = uses
        if old is not None and in_scope(quota, resource, old):
            delta = _increase(uses, usage(resource, old, at))
        added = _charge_one(quota, resource, {n: a for n, a in delta.items() if not a.is_zero}, name)
        if added:
            charges.append((quota, added))
    return charges


def _status(quota: Object, member: str) -> dict[str, str]:
    return (quota.get("status") or {}).get(member) or {}


def _concerns(quota: Object, resource: GroupResource, obj: Object) -> bool:
    return bool(matching(resource, _status(quota, "hard"))) and in_scope(quota, resource, obj)


def _check_countable(quota: Object, resource: GroupResource, obj: Object, name: str) -> None:
    limited = matching(resource, _status(quota, "hard"))
    label = quota["metadata"]["name"]
    lacking = missing_requirements(obj, limited) if resource == PODS else ""
    if lacking:
        raise Forbidden(resource, name, f"failed quota: {label}: {lacking}")
    if any(n not in _status(quota, "used") for n in limited):
        raise Forbidden(resource, name, f"status unknown for quota: {label}, resources: {','.join(limited)}")


def _increase(new: Usage, old: Usage) -> Usage:
    """new - old, never below zero."""
    zero = Quantity()
    return {n: amount - old[n] if n in old and amount > old[n] else (zero if n in old else amount) for n, amount in new.items()}


def _charge_one(quota: Object, resource: GroupResource, delta: Usage, name: str) -> dict[str, str]:
    """The new status.used, or {} when nothing of it changes."""
    hard, used = _parsed(_status(quota, "hard")), _parsed(_status(quota, "used"))
    requested = {n: amount for n, amount in delta.items() if n in hard}
    if not requested:
        return {}
    after = {n: used[n] + amount if n in used else amount for n, amount in requested.items()}
    exceeded = sorted(n for n in requested if after[n] > hard[n])
    if exceeded:
        parts = ((word, _shown(amounts, exceeded)) for word, amounts in (("requested", requested), ("used", used), ("limited", hard)))
        text = ", ".join(f"{word}: {shown}" for word, shown in parts)
        raise Forbidden(resource, name, f"exceeded quota: {quota['metadata']['name']}, {text}")
    return {**_status(quota, "used"), **{n: str(amount) for n, amount in after.items()}}


def _parsed(amounts: Mapping[str, str]) -> Usage:
    return {name: parse_quantity(text) for name, text in amounts.items()}


def _shown(amounts: Usage, names: Sequence[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)
