"""Token secrets go with their service account (kubernetes
``pkg/controller/serviceaccount/tokens_controller.go``). Tokens themselves are not made here: who
wants one asks for it (TokenRequest)."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.serviceaccounts import ACCOUNTS
from apiserver.controllers.upkeep import Unchanged
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

SECRETS = GroupResource("", "secrets")
TYPE = "kubernetes.io/service-account-token"
_NAME, _UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
SETTLE = 1.0


class AccountSecrets:
    """Looks at the token secrets of a namespace by its name."""

    controller = names.TOKENS
    resources = frozenset({ACCOUNTS, SECRETS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, SECRETS)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if key.group_resource == ACCOUNTS:
            return (key.namespace, SETTLE) if event.type == "DELETED" else None
        tokens = event.type == "ADDED" and TYPE.encode() in event.record.data
        return (key.namespace, SETTLE) if tokens else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        store = self._actions.registry.store
        async for record in self._actions.each(tenant.id, SECRETS, name):
            if TYPE.encode() not in record.data:
                continue
            secret = orjson.loads(record.data)
            annotations = secret["metadata"].get("annotations") or {}
            if secret.get("type") != TYPE or not annotations.get(_NAME):
                continue
            account = await store.get(tenant.id, ObjectKey(*ACCOUNTS, name, annotations[_NAME]))
            if account is None or annotations.get(_UID, account.uid) not in ("", account.uid):
                await self._actions.delete(
                    tenant, record.key, record.uid, "deletion of its service account"
                )
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        if await self._unchanged.since_last(tenant):
            return []
        secrets, marker = self._actions.each(tenant, SECRETS), TYPE.encode()
        return sorted({s.key.namespace async for s in secrets if marker in s.data})
