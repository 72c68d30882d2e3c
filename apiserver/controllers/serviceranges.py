"""ServiceCIDRs that tenants make: ready, and not gone as long as a Service has an address that only
they contain (kubernetes ``pkg/controller/servicecidrs``).

Storage keeps Services from taking an address of a range that is being deleted
(`apiserver.registry.services`). Which Services have an address is told by their claims, not by
IPAddresses, which anybody may delete. One worker at a time judges the ranges of a tenant that are
to go, one after the other: of two that contain each other the second is judged when the first has
gone, and stays. They are judged by what was there when the round began. That holds until it ends: a
range that counts for another has the finalizer, so it can go through the same worker only, and who
takes an address meanwhile takes it of a range that is not judged in this round.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.correlation import Regarding, Said
from apiserver.controllers.rangecover import Cover
from apiserver.controllers.recorder import Recorder
from apiserver.controllers.upkeep import Unchanged
from apiserver.errors import ApiError
from apiserver.kinds.common.addresses import Network, parse_cidr
from apiserver.kinds.common.metaconditions import condition, conditions_of
from apiserver.kinds.core.service_ranges import CLUSTER_RANGE, DEFAULT, FINALIZER
from apiserver.meta.objects import Object
from apiserver.meta.times import now, parse_time
from apiserver.registry.scope import Tenant
from apiserver.registry.services import RANGES, SERVICES
from apiserver.storage.addresses import Addresses
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.leases import Candidate
from apiserver.storage.relations import Relations

log = logging.getLogger("polyplane.controllers")

MANAGER = names.SERVICE_RANGES
ALL, NOW = "all", "now"
SETTLE = 3.0
"""Seconds until a range gets its finalizer, unless a Service wants an address of it before that
(`NOW`): who makes several changes in a row is not disturbed."""
FREED = 1.0
"""Seconds from the end of a Service, or of its address, to the look at the ranges that it may have
kept."""
GRACE = timedelta(seconds=10)
"""So long after its deletion was asked for a range keeps the finalizer, needed or not: upstream's
servers may not all have heard of it before."""
AGAIN = 5.0
_READY = ("True", "", "Kubernetes Service CIDR is ready")
_NOT_READY = Said(
    "Warning",
    "KubernetesServiceCIDRError",
    "The ServiceCIDR Status can not be set to Ready=True",
)
_KEPT = (
    "False",
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR",
)


class ServiceRanges:
    """The names that it is asked to look at are none of objects: under ALL it looks at all ranges
    of a tenant that are older than SETTLE or being deleted, under NOW at younger ones too."""

    controller = names.SERVICE_RANGES
    resources = frozenset({RANGES, SERVICES})

    def __init__(
        self, actions: Actions, relations: Relations, addresses: Addresses, candidate: Candidate
    ) -> None:
        self._actions, self._addresses, self._candidate = actions, addresses, candidate
        self._unchanged = [Unchanged(relations, resource) for resource in (RANGES, SERVICES)]
        self._recorder = Recorder(actions, names.SERVICE_RANGES)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        if event.record.key.group_resource == SERVICES:
            gave_up = event.type == "MODIFIED" and b'"ExternalName"' in event.record.data
            return (ALL, FREED) if event.type == "DELETED" or gave_up else None
        return None if event.record.key.name == DEFAULT else (ALL, SETTLE)

    async def look(self, tenant: Tenant, name: str) -> float | None:
        ranges = await self._own(tenant)
        later: list[float] = []
        for obj in ranges:
            if _going(obj):
                continue
            if name != NOW and (young := SETTLE - _age(obj)) > 0:
                later.append(young)
            else:
                try:
                    await self._make_ready(tenant, obj)
                except ApiError as e:  # admission may refuse it: others do not wait for that
                    log.info("a ServiceCIDR of tenant %s waits: %s", tenant.name, e.message)
                    later.append(AGAIN)
        if any(_going(obj) for obj in ranges):
            left = await self._judge_all(tenant)
            later += [left] if left is not None else []
        return min(later, default=None)

    async def missed(self, tenant: int) -> Sequence[str]:
        if all([await unchanged.since_last(tenant) for unchanged in self._unchanged]):
            return []
        async for record in self._actions.each(tenant, RANGES):
            obj = orjson.loads(record.data)
            if record.key.name != DEFAULT and (_going(obj) or not _is(obj, _READY)):
                return [ALL]
        return []

    async def _own(self, tenant: Tenant) -> Sequence[Object]:
        """All but the default one, fresh."""
        ranges = [orjson.loads(r.data) async for r in self._actions.each(tenant.id, RANGES)]
        return [obj for obj in ranges if obj["metadata"]["name"] != DEFAULT]

    async def _make_ready(self, tenant: Tenant, obj: Object) -> None:
        metadata = obj["metadata"]
        name = metadata["name"]
        key = ObjectKey(*RANGES, "", name)
        if not _is_protected(obj):

            def protect(stored: Object) -> bool:
                finalizers = stored["metadata"].get("finalizers") or []
                if FINALIZER not in finalizers and not _going(stored):
                    stored["metadata"]["finalizers"] = [*finalizers, FINALIZER]
                return True

            await self._actions.change(tenant, key, protect, manager="kube-controller-manager")
        try:
            await self._say(tenant, obj, _READY)
        except ApiError:
            about = Regarding("networking.k8s.io/v1", "ServiceCIDR", "", name, metadata["uid"])
            self._recorder.record(tenant, about, _NOT_READY)
            raise

    async def _say(self, tenant: Tenant, obj: Object, what: tuple[str, str, str]) -> None:
        if not _is(obj, what):
            key = ObjectKey(*RANGES, "", obj["metadata"]["name"])
            status = {"conditions": [condition("Ready", *what, now())]}
            await self._actions.apply_status(tenant, key, status, MANAGER)

    # --- deletion ---------------------------------------------------------------------------------
    async def _judge_all(self, tenant: Tenant) -> float | None:
        """Seconds until the next look, None where only a change can bring one."""
        duty = f"service-ranges/{tenant.id}"
        if not await self._candidate.elected(duty):
            return AGAIN
        try:
            judged: set[str] = set()
            waits: list[float] = []
            while True:
                ranges = await self._own(tenant)
                left = [o for o in ranges if _going(o) and o["metadata"]["uid"] not in judged]
                if not left:
                    return min(waits, default=None)
                cover = await self._cover(tenant, ranges)
                for obj in left:
                    if not await self._candidate.elected(duty):
                        return min(waits, default=AGAIN)
                    judged.add(obj["metadata"]["uid"])
                    wait = await self._judge(tenant, obj, cover)
                    waits += [wait] if wait is not None else []
        finally:
            await self._candidate.resign(duty)

    async def _cover(self, tenant: Tenant, ranges: Sequence[Object]) -> Cover:
        """By all ranges that cannot go before they are judged."""
        cover = Cover(await self._addresses.held(tenant.id))
        for obj in ranges:
            if _is_protected(obj):
                cover.add(_networks(obj))
        default = await self._actions.get(tenant, ObjectKey(*RANGES, "", DEFAULT))
        cover.add(_networks(default) if default is not None else [CLUSTER_RANGE])
        return cover

    async def _judge(self, tenant: Tenant, obj: Object, cover: Cover) -> float | None:
        """``cover``: of all ranges that are left; it is told when this one goes."""
        metadata = obj["metadata"]
        if not _is_protected(obj):
            return None
        cover.remove(_networks(obj))
        if cover.lacks(_networks(obj)):
            cover.add(_networks(obj))
            await self._say(tenant, obj, _KEPT)
            return None
        left = parse_time(metadata["deletionTimestamp"]) + GRACE - now()
        if left > timedelta(0):
            cover.add(_networks(obj))
            return left.total_seconds()

        def let_go(stored: Object) -> bool:
            if stored["metadata"]["uid"] == metadata["uid"]:
                kept = [f for f in stored["metadata"].get("finalizers") or () if f != FINALIZER]
                stored["metadata"]["finalizers"] = kept
            return True

        key = ObjectKey(*RANGES, "", metadata["name"])
        await self._actions.change(tenant, key, let_go, manager="kube-controller-manager")
        return None


def _is_protected(obj: Object) -> bool:
    return FINALIZER in (obj["metadata"].get("finalizers") or ())


def _networks(obj: Object) -> list[Network]:
    texts = (obj.get("spec") or {}).get("cidrs") or ()
    return [network for text in texts if (network := parse_cidr(text)) is not None]


def _age(obj: Object) -> float:
    """In seconds; up to one more than it is."""
    return (now() - parse_time(obj["metadata"]["creationTimestamp"])).total_seconds()


def _going(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _is(obj: Object, what: tuple[str, str, str]) -> bool:
    """Whether that is what its condition says."""
    return any(
        (x.get("status"), x.get("reason", ""), x.get("message")) == what
        for x in conditions_of(obj)
        if x.get("type") == "Ready"
    )
