"""The ServiceCIDR of the range that cluster IPs come from comes back when it is deleted (kubernetes
``pkg/controlplane/controller/defaultservicecidr``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.serviceaccounts import RESTORE
from apiserver.kinds.bootstrap import service_cidr
from apiserver.kinds.core.service_ranges import DEFAULT
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.registry.services import RANGES, SERVICES
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

_SERVICE = ObjectKey(*SERVICES, "default", "kubernetes")


class DefaultRange:
    """Looks at the one there is."""

    controller = names.SERVICE_RANGE
    resources = frozenset({RANGES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations

    def concerned(self, event: Event) -> tuple[str, float] | None:
        gone = event.type == "DELETED" and event.record.key.name == DEFAULT
        return (DEFAULT, RESTORE) if gone else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*RANGES, "", name)
        await self._actions.ensure(tenant, key, service_cidr(now()), "kube-apiserver")
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        """Of a tenant that has been seeded, which the Service shows."""
        key = ObjectKey(*RANGES, "", DEFAULT)
        present = await self._relations.named(tenant, [key, _SERVICE])
        return [DEFAULT] if _SERVICE in present and key not in present else []
