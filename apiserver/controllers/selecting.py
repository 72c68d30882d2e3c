"""Services that select pods, and the pods of their namespace: what the controllers of Endpoints and
EndpointSlices read, and when they do."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.controllers.actions import Actions
from apiserver.controllers.podendpoints import Pods, pod_of, selector_of
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import Event, Record

PODS = GroupResource("", "pods")
SETTLE = 0.5
"""Seconds from a change to the look at the Services of its namespace: pods change together."""
RESTORE = 1.0
"""Seconds after which what somebody has changed is as it was."""
AGAIN = 0.25
"""Seconds to the next look where another one has written meanwhile."""
SHARE, CHEAP = 4, 0.25
"""A namespace that takes a second is left alone for so many; one that takes less than so many
seconds is not."""


def matters(event: Event) -> bool:
    """Of a Service or a pod: whether endpoints may be others now. A pod that has no address is in
    none."""
    if event.record.key.group_resource == SERVICES:
        return event.type != "DELETED" and b'"selector":' in event.record.data
    return b'"podIPs":' in event.record.data or b'"podIP":' in event.record.data


async def selecting(
    actions: Actions, tenant: Tenant, namespace: str
) -> Sequence[tuple[Record, Object]]:
    """The Services of a namespace that select pods."""
    found = []
    async for record in actions.each(tenant.id, SERVICES, namespace):
        service = orjson.loads(record.data)
        if selector_of(service):
            found.append((record, service))
    return found


async def pods_in(actions: Actions, tenant: Tenant, namespace: str) -> Pods:
    """Those that have addresses."""
    found = []
    async for record in actions.each(tenant.id, PODS, namespace):
        if (pod := pod_of(orjson.loads(record.data))) is not None:
            found.append(pod)
    return Pods(found)


async def may_select(actions: Actions, tenant: Tenant, namespace: str) -> bool:
    """Whether the namespace may have Services that select pods. Pods always change, so the watch
    cache is asked, which may be a moment old: whoever makes a Service looks at it himself."""
    services = await actions.registry.lookup(tenant).list(SERVICES, namespace)
    return any(selector_of(service) for service in services)
