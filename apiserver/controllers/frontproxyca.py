"""The ConfigMap kube-system/extension-apiserver-authentication: by what API servers behind this one
know it, and who a request is from (kubernetes
``pkg/controlplane/controller/clusterauthenticationtrust``).

Each tenant's names an authority of its own (`apiserver.authn.frontproxy`). There is no
``client-ca-file``: nobody authenticates here with a certificate.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.authn.frontproxy import NAME as CLIENT
from apiserver.authn.frontproxy import FrontProxy
from apiserver.controllers.actions import Actions
from apiserver.controllers.names import FRONT_PROXY_CA
from apiserver.controllers.rootca import CONFIG_MAPS
from apiserver.controllers.serviceaccounts import NAMESPACES, RESTORE
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_FILE = "requestheader-client-ca-file"


class FrontProxyAuthority:
    """Looks at the one namespace that has it."""

    controller = FRONT_PROXY_CA
    resources = frozenset({NAMESPACES, CONFIG_MAPS})

    def __init__(self, actions: Actions, relations: Relations, front_proxy: FrontProxy) -> None:
        self._actions, self._relations, self._front_proxy = actions, relations, front_proxy

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if key.group_resource == NAMESPACES:
            added = event.type == "ADDED" and key.name == NAMESPACE
            return (NAMESPACE, RESTORE) if added else None
        changed = event.type != "ADDED" and (key.namespace, key.name) == (NAMESPACE, NAME)
        return (NAMESPACE, RESTORE) if changed else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        """What others have added stays, and so does an authority that is this one's already: its
        signature differs each time."""
        key, data = ObjectKey(*CONFIG_MAPS, NAMESPACE, NAME), self._data(tenant)
        metadata = {"name": NAME, "namespace": NAMESPACE}
        if await self._actions.ensure(
            tenant, key, {"metadata": metadata, "data": data}, "kube-apiserver"
        ):
            return None
        present = await self._actions.get(tenant, key)
        if present is None or self._agrees(tenant, present.get("data") or {}, data):
            return None

        def edit(obj: Object) -> bool:
            obj["data"] = {**(obj.get("data") or {}), **data}
            return True

        await self._actions.change(tenant, key, edit)
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        without = await self._relations.namespaces_without(tenant, CONFIG_MAPS, NAME)
        return [NAMESPACE] if NAMESPACE in without else []

    def _agrees(self, tenant: Tenant, present: dict[str, str], data: dict[str, str]) -> bool:
        others = data.keys() - {_FILE}
        return all(present.get(k) == data[k] for k in others) and self._front_proxy.is_authority(
            tenant.id, present.get(_FILE, "")
        )

    def _data(self, tenant: Tenant) -> dict[str, str]:
        lists = {
            "requestheader-allowed-names": [CLIENT],
            "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
            "requestheader-group-headers": ["X-Remote-Group"],
            "requestheader-uid-headers": ["X-Remote-Uid"],
            "requestheader-username-headers": ["X-Remote-User"],
        }
        encoded = {name: orjson.dumps(values).decode() for name, values in lists.items()}
        return {**encoded, _FILE: self._front_proxy.authority(tenant.id).decode()}
