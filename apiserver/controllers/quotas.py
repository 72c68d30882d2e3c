"""The status of ResourceQuotas: filled in when a quota is new or changed, recalculated when
something that it counts is gone (kubernetes ``pkg/controller/resourcequota``). How a recalculation
leaves alone what is charged at that moment: `apiserver.registry.quota`."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from admission.plugins.quota_usage import CLAIMS, PODS, SERVICES
from admission.plugins.resourcequota import settled
from apiserver.controllers import names
from apiserver.controllers.upkeep import Rest
from apiserver.meta.gvk import GroupResource
from apiserver.registry.quota import QUOTAS, WINDOW, Quotas, Sample, sample
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event
from apiserver.storage.relations import Relations

SETTLE = 1.0
"""Seconds until a new quota gets its status, unless a request needs it earlier."""
_SHARE = 10
"""A namespace that takes a second to count is left alone for so many."""
_MOST = 10_000
_CHANGING = frozenset({PODS, SERVICES, CLAIMS})

Place = tuple[int, str]


class _Taken(NamedTuple):
    """samples: of quotas by name; ripe: when objects may be counted (time.monotonic)."""

    ripe: float
    samples: Mapping[str, Sample]


class QuotaStatus:
    """Looks at namespaces by their name."""

    controller = names.QUOTA
    resources: frozenset[GroupResource] | None = None

    def __init__(self, quotas: Quotas, relations: Relations) -> None:
        self._quotas, self._relations = quotas, relations
        self._samples: dict[Place, _Taken] = {}
        self._rest = Rest(_SHARE)
        self._hard: OrderedDict[str, int] = OrderedDict()

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if not key.namespace:
            return None
        if key.group_resource == QUOTAS:
            return (key.namespace, SETTLE) if self._changed(event) else None
        if event.type == "DELETED":
            return key.namespace, 0.0
        if event.type == "MODIFIED" and key.group_resource in _CHANGING:
            return key.namespace, SETTLE
        return None

    def _changed(self, event: Event) -> bool:
        """Whether the status may have to follow the spec. Who writes a status by hand keeps it for
        a while, as upstream, whose controller looks at changes of spec.hard alone."""
        record = event.record
        if event.type == "DELETED":
            return False
        quota = orjson.loads(record.data)
        hard = tuple(sorted(((quota.get("spec") or {}).get("hard") or {}).items()))
        before = self._hard.pop(record.uid, None)
        self._hard[record.uid] = hash(hard)
        if len(self._hard) > _MOST:
            self._hard.popitem(last=False)
        return before != hash(hard) and not settled(quota)

    async def look(self, tenant: Tenant, name: str) -> float | None:
        """The first look takes samples, the next one, not before `WINDOW` is over, counts. Charges
        on their way want a third."""
        place = (tenant.id, name)
        taken = self._samples.get(place)
        if taken is not None and (left := taken.ripe - time.monotonic()) > 0:
            return left
        quotas = await self._quotas.of(tenant.id, name)
        self._samples.pop(place, None)
        samples = None if taken is None else taken.samples
        if not quotas:
            return None
        for quota in quotas:
            if not settled(quota):
                await self._quotas.settle(tenant.id, quota)
                samples = None
        if samples is None:
            if (rest := self._rest.left(*place)) > 0:
                return rest
            quotas = await self._quotas.of(tenant.id, name)
            return self._sampled(place, {q["metadata"]["name"]: sample(q) for q in quotas})
        began = time.monotonic()
        done = [
            await self._quotas.recalculate(tenant.id, name, quota, before)
            for quota, before in samples.items()
        ]
        self._rest.after(*place, began)
        return None if all(done) else SETTLE

    def _sampled(self, place: Place, samples: Mapping[str, Sample]) -> float:
        if len(self._samples) >= _MOST:
            self._samples.clear()  # whoever comes again takes new ones
        self._samples[place] = _Taken(time.monotonic() + WINDOW, samples)
        return WINDOW

    async def missed(self, tenant: int) -> Sequence[str]:
        """All that have quotas: nobody knows what a dead process left uncounted."""
        return await self._relations.namespaces_with(tenant, QUOTAS)
