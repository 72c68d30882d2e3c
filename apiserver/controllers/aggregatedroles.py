"""The rules of aggregated ClusterRoles (kubernetes ``pkg/controller/clusterroleaggregation``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.upkeep import Unchanged
from apiserver.kinds.rbac.aggregation import aggregated_rules
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.offload import Asker, beside
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

ROLES = GroupResource("rbac.authorization.k8s.io", "clusterroles")
SETTLE = 1.0
"""Seconds within which several roles may come together."""
_ALL = "clusterroles"


class AggregatedRoles:
    """Looks at all roles of a tenant at once: each may be a part of any other."""

    controller = names.AGGREGATION
    resources = frozenset({ROLES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, ROLES)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        return _ALL, SETTLE

    async def look(self, tenant: Tenant, name: str) -> float | None:
        """All that there is to gather, over however many roles."""
        cache = await self._actions.registry.watches.fresh(tenant.id, ROLES)
        entries = cache.select()
        roles = [entry.shared for entry in entries]
        asker = Asker(tenant, sum(len(entry.json) for entry in entries))
        # each role is compared with each, which a tenant may make as dear as it likes
        for role, rules in await beside(asker, lambda: _out_of_date(roles)):
            await self._write(tenant, role, rules)
        return None

    async def _write(self, tenant: Tenant, role: Object, rules: Sequence[Object]) -> None:
        metadata = role["metadata"]

        def edit(obj: Object) -> bool:
            if obj["metadata"]["resourceVersion"] == metadata["resourceVersion"]:
                obj["rules"] = list(rules)  # any other state has its own event
            return True

        await self._actions.change(tenant, ObjectKey(*ROLES, "", metadata["name"]), edit)

    async def missed(self, tenant: int) -> Sequence[str]:
        return [] if await self._unchanged.since_last(tenant) else [_ALL]


def _out_of_date(roles: Sequence[Object]) -> list[tuple[Object, Sequence[Object]]]:
    """The aggregated roles that have other rules than they should, with those."""
    rules = aggregated_rules(roles)
    judged = ((role, rules.get(role["metadata"]["name"])) for role in roles)
    return [
        (role, due) for role, due in judged if due is not None and due != (role.get("rules") or [])
    ]
