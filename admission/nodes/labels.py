"""Labels that nodes may not give themselves, so that they do not draw pods to themselves
(k8s.io/kubelet ``pkg/apis/well_known_labels.go``)."""

from __future__ import annotations

from collections.abc import Collection

from apiserver.meta.objects import Object

_RESTRICTED = "node-restriction.kubernetes.io"
_RESERVED = ("kubernetes.io", "k8s.io")
_OF_KUBELETS = frozenset(
    {
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"),
        *("beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type"),
        *("topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
    }
)
_SPACES_OF_KUBELETS = ("kubelet.kubernetes.io", "node.kubernetes.io")


def modified(new: Object, old: Object) -> Collection[str]:
    """Keys of labels that are not the same in both."""
    after, before = ((o.get("metadata") or {}).get("labels") or {} for o in (new, old))
    return [key for key in after.keys() | before.keys() if after.get(key) != before.get(key)]


def forbidden(keys: Collection[str]) -> list[str]:
    """Those that a node may neither add nor change nor remove, sorted."""
    return sorted(key for key in keys if _forbidden(key))


def _forbidden(key: str) -> bool:
    space, slash, _ = key.partition("/")
    if not slash:
        return False
    if _below(space, _RESTRICTED):
        return True
    reserved = any(_below(space, domain) for domain in _RESERVED)
    allowed = key in _OF_KUBELETS or any(_below(space, own) for own in _SPACES_OF_KUBELETS)
    return reserved and not allowed


def _below(space: str, domain: str) -> bool:
    return space == domain or space.endswith(f".{domain}")
