"""The ConfigMap kube-system/extension-apiserver-authentication: by what API servers behind this one
know it, and who a request is from (kubernetes
``pkg/controlplane/controller/clusterauthenticationtrust``).

Each tenant's names authorities of its own (`apiserver.authn.frontproxy`, and
`apiserver.authn.clientca` for client certificates). What others have added to ``client-ca-file``
stays, until it has expired. Each process looks at it once in a tenant that is in use: a restart may
have brought another ``POLYPLANE_CLIENT_CA_FILE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson
from cryptography import x509

from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.frontproxy import NAME as CLIENT
from apiserver.authn.frontproxy import FrontProxy
from apiserver.controllers.actions import Actions
from apiserver.controllers.names import FRONT_PROXY_CA
from apiserver.controllers.rootca import CONFIG_MAPS
from apiserver.controllers.serviceaccounts import NAMESPACES, RESTORE
from apiserver.controllers.upkeep import Due
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_FILE, _CLIENTS = "requestheader-client-ca-file", "client-ca-file"
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class FrontProxyAuthority:
    """Looks at the one namespace that has it."""

    controller = FRONT_PROXY_CA
    resources = frozenset({NAMESPACES, CONFIG_MAPS})

    def __init__(
        self,
        actions: Actions,
        relations: Relations,
        front_proxy: FrontProxy,
        client_authority: ClientAuthority | None = None,
        client_cas: str = "",
    ) -> None:
        """client_cas: authorities of client certificates that are good in all tenants, in PEM."""
        self._actions, self._relations, self._front_proxy = actions, relations, front_proxy
        self._client_authority, self._client_cas = client_authority, blocks(client_cas)
        self._due = Due()

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if key.group_resource == NAMESPACES:
            added = event.type == "ADDED" and key.name == NAMESPACE
            return (NAMESPACE, RESTORE) if added else None
        changed = event.type != "ADDED" and (key.namespace, key.name) == (NAMESPACE, NAME)
        return (NAMESPACE, RESTORE) if changed else None

    def used(self, tenant: int) -> Sequence[str]:
        return [NAMESPACE] if self._due.now(tenant) else []

    async def look(self, tenant: Tenant, name: str) -> float | None:
        await self._settle(tenant)
        self._due.done(tenant.id)
        return None

    async def _settle(self, tenant: Tenant) -> None:
        """What others have added stays, and so does an authority that is this one's already: its
        signature differs each time."""
        key, data = ObjectKey(*CONFIG_MAPS, NAMESPACE, NAME), self._data(tenant)
        metadata = {"name": NAME, "namespace": NAMESPACE}
        if await self._actions.ensure(
            tenant, key, {"metadata": metadata, "data": data}, "kube-apiserver"
        ):
            return
        present = await self._actions.get(tenant, key)
        if present is None or self._agrees(tenant, present.get("data") or {}, data):
            return

        def edit(obj: Object) -> bool:
            before = obj.get("data") or {}
            obj["data"] = {**before, **data}
            if clients := self._clients(tenant, before.get(_CLIENTS, "")):
                obj["data"][_CLIENTS] = clients
            return True

        await self._actions.change(tenant, key, edit)

    async def missed(self, tenant: int) -> Sequence[str]:
        without = await self._relations.namespaces_without(tenant, CONFIG_MAPS, NAME)
        return [NAMESPACE] if NAMESPACE in without else []

    def _agrees(self, tenant: Tenant, present: dict[str, str], data: dict[str, str]) -> bool:
        others = data.keys() - {_FILE, _CLIENTS}
        clients = present.get(_CLIENTS, "")
        return (
            all(present.get(k) == data[k] for k in others)
            and self._front_proxy.is_authority(tenant.id, present.get(_FILE, ""))
            and self._clients(tenant, clients) == clients
        )

    def _clients(self, tenant: Tenant, present: str) -> str:
        """``present`` with what it lacks: the tenant's own authority, whose signature differs each
        time, and those of the installation; and without what has expired."""
        authority, before = self._client_authority, blocks(present)
        held = [block for block in before if not _expired(block)]
        lacking = [ca for ca in self._client_cas if ca not in held and not _expired(ca)]
        if authority and not any(authority.is_certificate(tenant.id, block) for block in held):
            lacking.insert(0, authority.certificate(tenant.id).decode())
        return present if not lacking and held == before else "".join([*held, *lacking])

    def _data(self, tenant: Tenant) -> dict[str, str]:
        lists = {
            "requestheader-allowed-names": [CLIENT],
            "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
            "requestheader-group-headers": ["X-Remote-Group"],
            "requestheader-uid-headers": ["X-Remote-Uid"],
            "requestheader-username-headers": ["X-Remote-User"],
        }
        encoded = {name: orjson.dumps(values).decode() for name, values in lists.items()}
        encoded[_FILE] = self._front_proxy.authority(tenant.id).decode()
        if clients := self._clients(tenant, ""):
            encoded[_CLIENTS] = clients
        return encoded


def blocks(pem: str) -> list[str]:
    """The certificates of a bundle, one by one, in time by its length: each ends what began last
    before it."""
    found, at = list[str](), 0
    while (end := pem.find(_END, at)) >= 0:
        begin = pem.rfind(_BEGIN, at, end)
        at = end + len(_END)
        if begin >= 0:
            found.append(f"{pem[begin:at]}\n")
    return found


def _expired(block: str) -> bool:
    """What cannot be read does not expire: somebody else has put it there."""
    try:
        until = x509.load_pem_x509_certificate(block.encode()).not_valid_after_utc
    except ValueError:
        return False
    return until < datetime.now(UTC)
