"""ServiceAccount: every pod runs as a service account of its namespace, and gets that account's
token and pull secrets. Where the account says so, it may refer to the account's secrets only.

Source: kubernetes ``plugin/pkg/admission/serviceaccount``.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from admission.attributes import Attributes, Lookup
from admission.objects import PODS
from admission.plugins import mountable
from admission.refusal import forbidden
from apiserver.errors import PlainError
from apiserver.golang.strconv import go_quote
from apiserver.kinds.common.podannotations import MIRROR
from apiserver.kinds.common.podreferences import secrets
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import path_segment, random_suffix
from apiserver.meta.objects import Object

ACCOUNTS = GroupResource("", "serviceaccounts")
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUME = "kube-api-access-"
_EXPIRATION = 3607  # seconds: an hour, told apart from the hours that people ask for


_DEFAULT = "default"
_WAIT_FOR_DEFAULT = 10
"""Looks at the account that a controller makes in every namespace, before it is missed."""


def _pause() -> float:
    """Seconds between two of them."""
    return random.uniform(0.1, 0.2)  # noqa: S311  spread, not secrecy


class ServiceAccount:
    name = "ServiceAccount"

    def __init__(self, pause: Callable[[], float] = _pause) -> None:
        """pause: seconds between two looks at an account that is about to be made."""
        self._pause = pause

    def handles(self, attributes: Attributes) -> bool:
        if attributes.group_resource != PODS:
            return False
        asked = attributes.subresource, attributes.operation
        return asked in (("", "CREATE"), ("ephemeralcontainers", "UPDATE"))

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        pod = attributes.object
        if pod is None or attributes.operation != "CREATE":
            return
        if not _is_mirror(pod):
            await self._complete(pod, attributes, lookup)
        await self.validate(attributes, lookup)

    async def _complete(self, pod: Object, attributes: Attributes, lookup: Lookup) -> None:
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
        spec, creates = pod["spec"], attributes.operation == "CREATE"
        if creates and _is_mirror(pod):
            if why := _of_mirror(spec):
                raise forbidden(attributes, f"a mirror pod may not {why}")
            return
        name = spec.get("serviceAccountName")
        if not name:
            place = f"{attributes.namespace}/{pod['metadata'].get('name', '')}"
            raise forbidden(attributes, f"no service account specified for pod {place}")
        account = await self._account(attributes, lookup, name)
        if not mountable.is_enforced(account):
            return
        if not creates and (why := mountable.ephemeral_refusal(account, spec)):
            raise PlainError(why)  # kube-apiserver says it without a Status
        if creates and (why := mountable.refusal(account, spec)):
            raise forbidden(attributes, why)

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
        place = f"{attributes.namespace}/{name}"
        raise forbidden(attributes, f"error looking up service account {place}: {_missing(name)}")


def _missing(name: str) -> str:
    """A name that no path can have is not asked for."""
    if problems := path_segment(name):
        return f"invalid resource name {go_quote(name)}: [{' '.join(problems)}]"
    return f'serviceaccount "{name}" not found'


def _is_mirror(pod: Object) -> bool:
    return MIRROR in (pod["metadata"].get("annotations") or {})


def _of_mirror(spec: Object) -> str:
    """What a mirror pod may not do and this one does."""
    if spec.get("serviceAccountName"):
        return "reference service accounts"
    if any(secrets(spec)):
        return "reference secrets"
    sources = (
        source
        for volume in spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
    )
    tokens = any(source.get("serviceAccountToken") is not None for source in sources)
    return "use ServiceAccountToken volume projections" if tokens else ""


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
    names = (volume.get("name") or "" for volume in spec.get("volumes") or ())
    present = next((name for name in names if name.startswith(_VOLUME)), "")
    name = present or f"{_VOLUME}{random_suffix()}"
    for container in without:
        container.setdefault("volumeMounts", []).append(
            {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
        )
    if not present:
        spec.setdefault("volumes", []).append(_token_volume(name))


def _token_volume(name: str) -> Object:
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
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}
