"""Every namespace has a service account "default" (kubernetes
``pkg/controller/serviceaccount/serviceaccounts_controller.go``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

ACCOUNTS = GroupResource("", "serviceaccounts")
NAMESPACES = GroupResource("", "namespaces")
NAME = "default"
RESTORE = 1.0
"""Seconds after which what was deleted comes back: who deletes it sees that it is gone."""


class DefaultAccount:
    """The names that it looks at are those of namespaces."""

    controller = names.ACCOUNT
    resources = frozenset({NAMESPACES, ACCOUNTS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations

    def concerned(self, event: Event) -> tuple[str, float] | None:
        return wanted_beside(event, ACCOUNTS, NAME)

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*ACCOUNTS, name, NAME)
        await self._actions.ensure(tenant, key, {"metadata": {"name": NAME, "namespace": name}})
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        return await self._relations.namespaces_without(tenant, ACCOUNTS, NAME)


def wanted_beside(event: Event, resource: GroupResource, name: str) -> tuple[str, float] | None:
    """For controllers that keep an object, ``resource`` and ``name``, in every namespace: the
    namespace that may lack it after this event, and in how many seconds to look."""
    key = event.record.key
    if key.group_resource == NAMESPACES:
        return (key.name, RESTORE) if event.type == "ADDED" else None
    if event.type == "DELETED" and key.name == name and key.group_resource == resource:
        return key.namespace, RESTORE
    return None
