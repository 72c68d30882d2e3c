"""Every namespace has a ConfigMap "kube-root-ca.crt" with what verifies this server's certificate
(kubernetes ``pkg/controller/certificates/rootcacertpublisher``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.serviceaccounts import NAMESPACES, RESTORE, wanted_beside
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

CONFIG_MAPS = GroupResource("", "configmaps")
NAME = "kube-root-ca.crt"
MEMBER = "ca.crt"
_DESCRIPTION = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the "
    "kube-apiserver when using internal endpoints such as the internal service IP or "
    "kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
}
_MANAGER = "kube-controller-manager"


class RootCertificate:
    """Looks at namespaces by their name. bundle: certificates in PEM; "" where the system's trust
    store verifies the server."""

    controller = names.ROOT_CA
    resources = frozenset({NAMESPACES, CONFIG_MAPS})

    def __init__(self, actions: Actions, relations: Relations, bundle: str) -> None:
        self._actions, self._relations, self._bundle = actions, relations, bundle

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if event.type == "MODIFIED" and key.name == NAME and key.group_resource == CONFIG_MAPS:
            return key.namespace, RESTORE
        return wanted_beside(event, CONFIG_MAPS, NAME)

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key, data = ObjectKey(*CONFIG_MAPS, name, NAME), {MEMBER: self._bundle}
        metadata = {"name": NAME, "namespace": name, "annotations": dict(_DESCRIPTION)}
        if not await self._actions.ensure(tenant, key, {"metadata": metadata, "data": data}):
            await self._restore(tenant, key, data)
        return None

    async def _restore(self, tenant: Tenant, key: ObjectKey, data: dict[str, str]) -> None:
        present = await self._actions.get(tenant, key)
        if present is None or present.get("data") == data or _published(present):
            return

        def edit(obj: Object) -> bool:
            obj["data"] = data
            obj["metadata"]["annotations"] = {
                **(obj["metadata"].get("annotations") or {}),
                **_DESCRIPTION,
            }
            return True

        await self._actions.change(tenant, key, edit)

    async def missed(self, tenant: int) -> Sequence[str]:
        return await self._relations.namespaces_without(tenant, CONFIG_MAPS, NAME)


def _published(config_map: Object) -> bool:
    """Whether a controller manager owns the data: one that is attached has its own idea of the CA,
    and the two would change it to and fro for ever."""
    return any(
        entry.get("manager") == _MANAGER
        and f"f:{MEMBER}" in (entry.get("fieldsV1") or {}).get("f:data", {})
        for entry in config_map["metadata"].get("managedFields") or ()
    )
