"""The ServiceCIDR of the range that cluster IPs come from comes back when it is deleted (kubernetes
``pkg/controlplane/controller/defaultservicecidr``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.serviceaccounts import RESTORE
from apiserver.kinds.bootstrap import service_cidr
from apiserver.meta.gvk import GroupResource
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

RANGES = GroupResource("networking.k8s.io", "servicecidrs")
NAME = "kubernetes"
_SERVICE = ObjectKey(*SERVICES, "default", "kubernetes")


class DefaultRange:
    """Looks at the one there is."""

    controller = names.SERVICE_RANGE
    resources = frozenset({RANGES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations

    def concerned(self, event: Event) -> tuple[str, float] | None:
        gone = event.type == "DELETED" and event.record.key.name == NAME
        return (NAME, RESTORE) if gone else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*RANGES, "", name)
        await self._actions.ensure(tenant, key, service_cidr(now()), "kube-apiserver")
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        """Of a tenant that has been seeded, which the Service shows."""
        key = ObjectKey(*RANGES, "", NAME)
        present = await self._relations.named(tenant, [key, _SERVICE])
        return [NAME] if _SERVICE in present and key not in present else []
