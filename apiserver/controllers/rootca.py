"""Every namespace has a ConfigMap "kube-root-ca.crt" with what verifies this server's certificate
(kubernetes ``pkg/controller/certificates/rootcacertpublisher``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import MANAGER as THEIRS
from apiserver.controllers.actions import OURS, Actions
from apiserver.controllers.refusals import each_its_turn
from apiserver.controllers.serviceaccounts import NAMESPACES, RESTORE, wanted_beside
from apiserver.controllers.upkeep import Due
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

CONFIG_MAPS = GroupResource("", "configmaps")
NAME = "kube-root-ca.crt"
MEMBER = "ca.crt"
_EVERYWHERE = ""
_DESCRIPTION = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the "
    "kube-apiserver when using internal endpoints such as the internal service IP or "
    "kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
}


class RootCertificate:
    """Looks at namespaces by their name, and once in each tenant that is in use at all of them: a
    restart may have brought another certificate. bundle: certificates in PEM; "" where the system's
    trust store verifies the server."""

    controller = names.ROOT_CA
    resources = frozenset({NAMESPACES, CONFIG_MAPS})

    def __init__(self, actions: Actions, relations: Relations, bundle: str) -> None:
        self._actions, self._relations, self._data = actions, relations, {MEMBER: bundle}
        self._due = Due()

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if event.type == "MODIFIED" and key.name == NAME and key.group_resource == CONFIG_MAPS:
            return key.namespace, RESTORE
        return wanted_beside(event, CONFIG_MAPS, NAME)

    def used(self, tenant: int) -> Sequence[str]:
        return [_EVERYWHERE] if self._due.now(tenant) else []

    async def look(self, tenant: Tenant, name: str) -> float | None:
        if name != _EVERYWHERE:
            await self._settle(tenant, name)
            return None
        await self._settle_all(tenant)
        self._due.done(tenant.id)
        return None

    async def _settle_all(self, tenant: Tenant) -> None:
        others, last = self._relations.namespaces_with_other, ""
        with each_its_turn() as turn:
            while namespaces := await others(tenant.id, CONFIG_MAPS, NAME, self._data, last):
                for namespace in namespaces:
                    with turn():
                        await self._settle(tenant, namespace)
                last = namespaces[-1]

    async def _settle(self, tenant: Tenant, name: str) -> None:
        key = ObjectKey(*CONFIG_MAPS, name, NAME)
        metadata = {"name": NAME, "namespace": name, "annotations": dict(_DESCRIPTION)}
        desired = {"metadata": metadata, "data": dict(self._data)}
        if not await self._actions.ensure(tenant, key, desired, OURS):
            await self._restore(tenant, key)

    async def _restore(self, tenant: Tenant, key: ObjectKey) -> None:
        present = await self._actions.get(tenant, key)
        if present is None or present.get("data") == self._data or present.get("immutable"):
            return
        if _published(present):
            return

        def edit(obj: Object) -> bool:
            obj["data"] = dict(self._data)
            obj["metadata"]["annotations"] = {
                **(obj["metadata"].get("annotations") or {}),
                **_DESCRIPTION,
            }
            return True

        await self._actions.change(tenant, key, edit, manager=OURS)

    async def missed(self, tenant: int) -> Sequence[str]:
        return await self._relations.namespaces_without(tenant, CONFIG_MAPS, NAME)


def _published(config_map: Object) -> bool:
    """Whether a controller manager owns the data: one that is attached has its own idea of the CA,
    and the two would change it to and fro for ever."""
    return any(
        entry.get("manager") == THEIRS
        and f"f:{MEMBER}" in (entry.get("fieldsV1") or {}).get("f:data", {})
        for entry in config_map["metadata"].get("managedFields") or ()
    )
