"""The ServiceCIDR of the range that cluster IPs come from comes back when it is deleted, and says
that it is ready (kubernetes ``pkg/controlplane/controller/defaultservicecidr``)."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.serviceaccounts import RESTORE
from apiserver.kinds.bootstrap import service_cidr
from apiserver.kinds.common.metaconditions import condition, state_of
from apiserver.kinds.core.service_ranges import DEFAULT
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.registry.services import RANGES, SERVICES
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

MANAGER = "kubernetes-service-cidr-controller"
_MESSAGE = "Kubernetes default Service CIDR is ready"
_SERVICE = ObjectKey(*SERVICES, "default", "kubernetes")


class DefaultRange:
    """Looks at the one there is."""

    controller = names.SERVICE_RANGE
    resources = frozenset({RANGES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations

    def concerned(self, event: Event) -> tuple[str, float] | None:
        if event.record.key.name != DEFAULT:
            return None
        if event.type == "DELETED":
            return DEFAULT, RESTORE
        return (DEFAULT, 0.0) if _wants_word(orjson.loads(event.record.data)) else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*RANGES, "", name)
        await self._actions.ensure(tenant, key, service_cidr(), "kube-apiserver")
        present = await self._actions.get(tenant, key)
        if present is not None and _wants_word(present):
            ready: Object = {"conditions": [condition("Ready", "True", "", _MESSAGE, now())]}
            await self._actions.apply_status(tenant, key, ready, MANAGER)
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        """Of a tenant that has been seeded, which the Service shows."""
        key = ObjectKey(*RANGES, "", DEFAULT)
        if _SERVICE not in await self._relations.named(tenant, [_SERVICE]):
            return []
        record = await self._actions.registry.store.get(tenant, key)
        return [DEFAULT] if record is None or _wants_word(orjson.loads(record.data)) else []


def _wants_word(obj: ReadOnlyObject) -> bool:
    """Whether nobody has said if it is ready. What somebody has said stays, and so does what is
    being deleted, or has other ranges than this server."""
    return (
        state_of(obj, "Ready") not in ("True", "False")
        and not obj["metadata"].get("deletionTimestamp")
        and obj.get("spec") == service_cidr()["spec"]
    )
