"""Which secrets pods of a service account may refer to, where its annotation says that it counts:
those that the account names (kubernetes ``plugin/pkg/admission/serviceaccount``,
limitSecretReferences). Deprecated, and obeyed all the same."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.golang.strconv import NumError, parse_bool
from apiserver.kinds.core.serviceaccount import ENFORCE_MOUNTABLE
from apiserver.meta.objects import Object, ReadOnlyObject

_CONTAINERS = {"initContainers": "init container", "containers": "container"}
_EPHEMERAL = {"ephemeralContainers": "ephemeral container"}


def is_enforced(account: ReadOnlyObject) -> bool:
    """A value that is none means no."""
    annotations = (account.get("metadata") or {}).get("annotations") or {}
    try:
        return parse_bool(annotations.get(ENFORCE_MOUNTABLE, "false"))
    except NumError:
        return False


def refusal(account: ReadOnlyObject, spec: ReadOnlyObject) -> str:
    """Of a new pod: the first thing that the account does not allow, "" for nothing."""
    return next(_of_pod(account, spec), "")


def ephemeral_refusal(account: ReadOnlyObject, spec: ReadOnlyObject) -> str:
    """Of a pod's ephemeral containers, likewise."""
    return next(_of_containers(account, spec, _EPHEMERAL), "")


def _of_pod(account: ReadOnlyObject, spec: ReadOnlyObject) -> Iterator[str]:
    name, mountable = _name(account), _names(account, "secrets")
    for volume in spec.get("volumes") or ():
        secret = (volume.get("secret") or {}).get("secretName") or ""
        if volume.get("secret") is not None and secret not in mountable:
            yield f'volume with secret.secretName="{secret}"{_BECAUSE.format(name, "secret")}'
    yield from _of_containers(account, spec, _CONTAINERS)
    pulled = _names(account, "imagePullSecrets")
    for i, reference in enumerate(spec.get("imagePullSecrets") or ()):
        secret = reference.get("name") or ""
        if secret not in pulled:
            why = _BECAUSE.format(name, "imagePullSecret")
            yield f'imagePullSecrets[{i}].name="{secret}"{why}'


_BECAUSE = " is not allowed because service account {} does not reference that {}"


def _of_containers(
    account: ReadOnlyObject, spec: ReadOnlyObject, kinds: dict[str, str]
) -> Iterator[str]:
    mountable, because = _names(account, "secrets"), _BECAUSE.format(_name(account), "secret")
    for member, kind in kinds.items():
        for container in spec.get(member) or ():
            for how, reference in _references(container):
                secret = reference.get("name") or ""
                if secret not in mountable:
                    of = f"{kind} {container.get('name', '')} with {how}"
                    yield f'{of} referencing secret.secretName="{secret}"{because}'


def _references(container: Object) -> Iterator[tuple[str, Object]]:
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name', '')}", reference
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield "envFrom", source["secretRef"]


def _name(account: ReadOnlyObject) -> str:
    name: str = account["metadata"]["name"]
    return name


def _names(account: ReadOnlyObject, member: str) -> set[str]:
    return {reference.get("name") or "" for reference in account.get(member) or ()}
