"""SystemNamespaces: makes the namespaces that every cluster has again when somebody has deleted one
(kubernetes ``pkg/controlplane/controller/systemnamespaces``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.serviceaccounts import NAMESPACES, RESTORE
from apiserver.kinds.bootstrap import NAMESPACES as SYSTEM
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations


class SystemNamespaces:
    """Looks at them by their name. Upstream it belongs to the API server, not to
    kube-controller-manager."""

    controller = names.SYSTEM_NAMESPACES
    resources = frozenset({NAMESPACES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations

    def concerned(self, event: Event) -> tuple[str, float] | None:
        name = event.record.key.name
        return (name, RESTORE) if event.type == "DELETED" and name in SYSTEM else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*NAMESPACES, "", name)
        await self._actions.ensure(tenant, key, {"metadata": {"name": name}}, "polyplane")
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        """Nothing where none of them is there: seeding, which makes them all, is still to come."""
        present = await self._relations.present(tenant, NAMESPACES, SYSTEM)
        return [name for name in SYSTEM if name not in present] if present else []
