"""ServiceAccount: every pod runs as a service account of its namespace, and gets that account's
token and pull secrets.

Source: kubernetes ``plugin/pkg/admission/serviceaccount``.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable

from admission.attributes import Attributes, Lookup
from admission.objects import PODS, OfObjects
from apiserver.errors import Forbidden
from apiserver.kinds.common.podannotations import MIRROR
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import random_suffix
from apiserver.meta.objects import Object

ACCOUNTS = GroupResource("", "serviceaccounts")
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_EXPIRATION = 3607  # seconds: an hour, told apart from the hours that people ask for


_DEFAULT = "default"
_WAIT_FOR_DEFAULT = 10
"""Looks at the account that a controller makes in every namespace, before it is missed."""


def _pause() -> float:
    """Seconds between two of them."""
    return random.uniform(0.1, 0.2)  # noqa: S311  spread, not secrecy


class ServiceAccount(OfObjects):
    name = "ServiceAccount"

    def __init__(self, pause: Callable[[], float] = _pause) -> None:
        """pause: seconds between two looks at an account that is about to be made."""
        self._pause = pause

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        pod = attributes.object
        if pod is None or MIRROR in (pod["metadata"].get("annotations") or {}):
            return
        spec = pod["spec"]
        name = spec.get("serviceAccountName") or _DEFAULT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = await self._account(attributes, lookup, name)
        if _wants_token(spec, account):
            _mount_token(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [dict(s) for s in account["imagePullSecrets"]]

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        pod = attributes.object
        if pod is None:
            return
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            if pod["spec"].get("serviceAccountName"):
                raise Forbidden(
                    PODS, attributes.name, "a mirror pod may not reference service accounts"
                )
            return
        await self._account(attributes, lookup, pod["spec"].get("serviceAccountName", ""))

    async def _account(self, attributes: Attributes, lookup: Lookup, name: str) -> Object:
        account = await lookup.get(ACCOUNTS, attributes.namespace, name)
        for attempt in range(_WAIT_FOR_DEFAULT if name == _DEFAULT else 1):
            if account is not None:
                return account
            if attempt:
                await asyncio.sleep(self._pause())
            account = await lookup.get(ACCOUNTS, attributes.namespace, name, fresh=True)
        if account is not None:
            return account
        why = (
            f"error looking up service account {attributes.namespace}/{name}: "
            f'serviceaccount "{name}" not found'
        )
        raise Forbidden(PODS, attributes.name, why)


def _wants_token(spec: Object, account: Object) -> bool:
    """The pod decides, then the account; by default yes."""
    automount = spec.get("automountServiceAccountToken")
    if automount is None:
        automount = account.get("automountServiceAccountToken")
    return automount is not False


def _mount_token(spec: Object) -> None:
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    without = [
        c
        for c in containers
        if all(m.get("mountPath") != MOUNT_PATH for m in c.get("volumeMounts") or ())
    ]
    if not without:
        return
    taken = {v["name"] for v in spec.get("volumes") or ()}
    name = f"kube-api-access-{random_suffix()}"
    while name in taken:
        name = f"kube-api-access-{secrets.token_hex(4)}"
    for container in without:
        container.setdefault("volumeMounts", []).append(
            {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
        )
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _EXPIRATION, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "namespace",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                    }
                ]
            }
        },
    ]
    spec.setdefault("volumes", []).append(
        {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}
    )
