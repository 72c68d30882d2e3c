"""ResourceQuota: refuses what would exceed a quota of the namespace, and charges what fits to the
quota's status.

Source: k8s.io/apiserver ``admission/plugin/resourcequota``. `charge` is pure; the plugin fetches
quotas and stores what was charged, with compare-and-swap, so that two requests never spend the same
rest. Within a process the requests of one namespace take turns; only other processes can be faster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from weakref import WeakValueDictionary

from admission.attributes import Attributes, Lookup
from admission.plugins.quota_limits import Limited, check_covered
from admission.plugins.quota_scopes import in_scope, is_terminating
from admission.plugins.quota_usage import (
    CLAIMS,
    PODS,
    SERVICES,
    Usage,
    matching,
    missing_requirements,
    parsed,
    usage,
)
from apiserver.errors import Conflict, Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity
from apiserver.meta.times import now

Charges = list[tuple[Object, dict[str, str]]]
"""Quotas whose use changes, each with its whole new status.used."""


class Store(Protocol):
    """Of quotas."""

    async def charge(self, tenant: int, quota: Object, used: dict[str, str]) -> None:
        """Stores the new status.used if the quota has not changed since it was read, else raises
        Conflict."""

    async def settle(self, tenant: int, quota: Object) -> None:
        """Fills in the status of a quota whose status does not say yet what its spec does; does
        nothing where another controller is to do it. Raises Conflict likewise."""


QUOTAS = GroupResource("", "resourcequotas")
IGNORED = frozenset(
    {
        GroupResource("", "events"),
        GroupResource("events.k8s.io", "events"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
    }
)
_ON_UPDATE = frozenset({SERVICES, CLAIMS})
_RETRIES = 32


class ResourceQuota:
    name = "ResourceQuota"

    def __init__(self, store: Store, limited: Sequence[Limited] = ()) -> None:
        self._store, self._limited = store, limited
        self._turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    def handles(self, attributes: Attributes) -> bool:
        resource, operation, subresource = (
            attributes.group_resource,
            attributes.operation,
            attributes.subresource,
        )
        if not attributes.namespace or attributes.object is None or resource in IGNORED:
            return False
        if subresource:
            return resource == PODS and subresource == "resize" and operation == "UPDATE"
        if operation == "UPDATE" and resource == PODS:
            return is_terminating(attributes.old or {}) != is_terminating(attributes.object)
        return operation == "CREATE" or (operation == "UPDATE" and resource in _ON_UPDATE)

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        """Raises Forbidden; Conflict when other processes were always faster."""
        quotas = await lookup.list(QUOTAS, attributes.namespace)
        if not quotas and not self._limited:
            return
        place = (attributes.tenant, attributes.namespace)
        turn = self._turns.get(place)
        if turn is None:
            turn = self._turns[place] = asyncio.Lock()
        async with turn:
            await self._charge(attributes, lookup)

    async def _charge(self, attributes: Attributes, lookup: Lookup) -> None:
        quotas, charged = await lookup.list(QUOTAS, attributes.namespace), set[str]()
        for attempt in range(_RETRIES):
            try:
                left = [q for q in quotas if q["metadata"]["name"] not in charged]
                if await self._settle(attributes, left):
                    quotas = await _fresh(lookup, quotas)
                    left = [q for q in quotas if q["metadata"]["name"] not in charged]
                for quota, used in _charges(attributes, left, self._limited):
                    attributes.charged = True
                    await self._store.charge(attributes.tenant, quota, used)
                    charged.add(quota["metadata"]["name"])
            except Conflict:
                if attempt == _RETRIES - 1:
                    raise
                quotas = await _fresh(lookup, quotas)
            else:
                return

    async def _settle(self, attributes: Attributes, quotas: Sequence[Object]) -> bool:
        """Whether the status of some had to be filled in first: a new quota binds at once."""
        assert attributes.object is not None
        unsettled = [
            q
            for q in quotas
            if not settled(q)
            and matching(attributes.group_resource, (q.get("spec") or {}).get("hard") or {})
        ]
        for quota in unsettled:
            await self._store.settle(attributes.tenant, quota)
        return bool(unsettled)


async def _fresh(lookup: Lookup, quotas: Sequence[Object]) -> Sequence[Object]:
    """The same ones, as the database has them."""
    names = ((q["metadata"]["namespace"], q["metadata"]["name"]) for q in quotas)
    states = [await lookup.get(QUOTAS, *name, fresh=True) for name in names]
    return [state for state in states if state is not None]


def settled(quota: Object) -> bool:
    """Whether the status limits what the spec does."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    return parsed(_status(quota, "hard")) == parsed(hard)


def _charges(
    attributes: Attributes, quotas: Sequence[Object], limited: Sequence[Limited]
) -> Charges:
    """None for a dry run, which only has to fit."""
    assert attributes.object is not None
    charges = charge(
        quotas,
        attributes.group_resource,
        attributes.object,
        attributes.old,
        now(),
        attributes.name,
        limited,
    )
    return [] if attributes.dry_run else charges


def charge(
    quotas: Sequence[Object],
    resource: GroupResource,
    obj: Object,
    old: Object | None,
    at: datetime,
    name: str = "",
    limited: Sequence[Limited] = (),
) -> Charges:
    """What each quota of the namespace will have been used once ``obj`` is written over ``old``.
    Raises Forbidden.

    An update is charged by what it uses more than before. ``name``: of the object, for the
    message; limited: what some quota has to cover."""
    relevant = [quota for quota in quotas if _concerns(quota, resource, obj)]
    for quota in relevant:
        _check_countable(quota, resource, obj, name)
    if not relevant and not limited:
        return []
    uses = usage(resource, obj, at)
    if limited:
        check_covered(limited, quotas, relevant, resource, obj, uses, name)
    negative = sorted(n for n, amount in uses.items() if amount.sign < 0)
    if negative:
        raise Forbidden(
            resource, name, f"quota usage is negative for resource(s): {','.join(negative)}"
        )
    charges: Charges = []
    for quota in relevant:
        delta = uses
        if old is not None and in_scope(quota, resource, old):
            delta = _increase(uses, usage(resource, old, at))
        added = _charge_one(
            quota, resource, {n: a for n, a in delta.items() if not a.is_zero}, name
        )
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
        raise Forbidden(
            resource, name, f"status unknown for quota: {label}, resources: {','.join(limited)}"
        )


def _increase(new: Usage, old: Usage) -> Usage:
    """new - old, never below zero."""
    zero = Quantity()
    return {
        n: amount - old[n] if n in old and amount > old[n] else (zero if n in old else amount)
        for n, amount in new.items()
    }


def _charge_one(quota: Object, resource: GroupResource, delta: Usage, name: str) -> dict[str, str]:
    """The new status.used, or {} when nothing of it changes."""
    hard, used = parsed(_status(quota, "hard")), parsed(_status(quota, "used"))
    requested = {n: amount for n, amount in delta.items() if n in hard}
    if not requested:
        return {}
    after = {n: used[n] + amount if n in used else amount for n, amount in requested.items()}
    exceeded = sorted(n for n in requested if after[n] > hard[n])
    if exceeded:
        parts = (
            (word, _amounts_text(amounts, exceeded))
            for word, amounts in (("requested", requested), ("used", used), ("limited", hard))
        )
        text = ", ".join(f"{word}: {rendered}" for word, rendered in parts)
        raise Forbidden(resource, name, f"exceeded quota: {quota['metadata']['name']}, {text}")
    return {**_status(quota, "used"), **{n: str(amount) for n, amount in after.items()}}


def _amounts_text(amounts: Usage, names: Sequence[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)
