"""Secrets of type kubernetes.io/service-account-token: filled with a token for the account that
they name, and gone with it (kubernetes ``pkg/controller/serviceaccount/tokens_controller.go``)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import partial

import orjson

from apiserver.authn.accountclaims import Ref
from apiserver.authn.legacytokens import TYPE
from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.refusals import each_its_turn
from apiserver.controllers.serviceaccounts import ACCOUNTS
from apiserver.controllers.upkeep import Unchanged
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey, Record
from apiserver.storage.relations import Relations

SECRETS = GroupResource("", "secrets")
_NAME, _UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
SETTLE, FILL = 1.0, 0.1
"""Seconds until secrets follow their account, and until a new one is filled."""


class AccountSecrets:
    """Looks at the token secrets of a namespace by its name, and at what refers to one that is
    gone by ``namespace/account/secret``. tokens: issues them; None: secrets stay as they are;
    bundle: certificates in PEM that verify the server, "" for none."""

    controller = names.TOKENS
    resources = frozenset({ACCOUNTS, SECRETS})

    def __init__(
        self,
        actions: Actions,
        relations: Relations,
        tokens: AccountTokens | None = None,
        bundle: str = "",
    ) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, SECRETS)
        self._tokens, self._bundle = tokens, bundle

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if key.group_resource == ACCOUNTS:
            return (key.namespace, SETTLE) if event.type == "DELETED" else None
        secret = token_secret(event.record)
        if secret is None:
            return None
        if event.type == "DELETED":
            return f"{key.namespace}/{account_of(secret)}/{key.name}", SETTLE
        return (key.namespace, FILL) if event.type == "ADDED" or self._wants(secret) else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        namespace, _, gone = name.partition("/")
        if gone:
            await self._forget(tenant, namespace, *gone.split("/"))
            return None
        with each_its_turn() as turn:
            async for record in self._actions.each(tenant.id, SECRETS, name):
                secret = token_secret(record)
                if secret is not None and account_of(secret):
                    with turn():
                        await self._settle(tenant, record, secret)
        return None

    async def _settle(self, tenant: Tenant, record: Record, secret: Object) -> None:
        key = ObjectKey(*ACCOUNTS, record.key.namespace, account_of(secret))
        account = await self._actions.registry.store.get(tenant.id, key)
        if account is None or _of_another(secret, account.uid):
            why = "deletion of its service account"
            await self._actions.delete(tenant, record.key, record.uid, why)
        elif self._tokens is not None and self._wants(secret):
            of, name = Ref(key.name, account.uid), record.key.name
            token = await self._tokens.issue_legacy(tenant, record.key.namespace, of, name)
            await self._actions.change(
                tenant, record.key, partial(self._fill, token, of, record.uid)
            )

    async def missed(self, tenant: int) -> Sequence[str]:
        if await self._unchanged.since_last(tenant):
            return []
        secrets, marker = self._actions.each(tenant, SECRETS), TYPE.encode()
        return sorted({s.key.namespace async for s in secrets if marker in s.data})

    def _wants(self, secret: Object) -> bool:
        """Whether the secret lacks what `_fill` would put in. A CA that is there is left alone: an
        attached kube-controller-manager would write its own back."""
        if self._tokens is None or secret.get("immutable"):
            return False
        data, annotations = secret.get("data") or {}, secret["metadata"].get("annotations") or {}
        lacks = not data.get("token") or not data.get("namespace") or not annotations.get(_UID)
        return lacks or bool(self._bundle and not data.get("ca.crt"))

    def _fill(self, token: str, account: Ref, uid: str, secret: Object) -> bool:
        """``token``: for a secret that still lacks one."""
        if secret["metadata"].get("uid") != uid or _of_another(secret, account.uid):
            return False
        if account_of(secret) != account.name:
            return False
        metadata, data = secret["metadata"], secret.get("data") or {}
        namespace = metadata["namespace"]
        metadata["annotations"] = {**metadata["annotations"], _UID: account.uid}
        if not data.get("token"):
            data["token"] = _encoded(token)
        if not data.get("namespace"):
            data["namespace"] = _encoded(namespace)
        if self._bundle and not data.get("ca.crt"):
            data["ca.crt"] = _encoded(self._bundle)
        secret["data"] = data
        return True

    async def _forget(self, tenant: Tenant, namespace: str, account: str, secret: str) -> None:
        """Takes a secret that is gone from the account's list."""
        store = self._actions.registry.store
        if await store.get(tenant.id, ObjectKey(*SECRETS, namespace, secret)) is not None:
            return
        key = ObjectKey(*ACCOUNTS, namespace, account)
        held = await self._actions.get(tenant, key)
        if held is not None and _without(secret, held):
            await self._actions.change(tenant, key, partial(_without, secret))


def _without(secret: str, account: Object) -> bool:
    """Removes the secret from the account's list, in place. Returns whether it was there."""
    named = account.get("secrets") or []
    left = [ref for ref in named if ref.get("name") != secret]
    if len(left) == len(named):
        return False
    account["secrets"] = left
    return True


def token_secret(record: Record) -> Object | None:
    """The secret, if it is of this type."""
    if TYPE.encode() not in record.data:
        return None
    secret: Object = orjson.loads(record.data)
    return secret if secret.get("type") == TYPE else None


def account_of(secret: Object) -> str:
    return (secret["metadata"].get("annotations") or {}).get(_NAME) or ""


def _of_another(secret: Object, uid: str) -> bool:
    """Whether the secret belongs to an earlier account of the same name."""
    return (secret["metadata"].get("annotations") or {}).get(_UID) not in (None, "", uid)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
