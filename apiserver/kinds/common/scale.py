"""The Scale of kinds that count replicas (autoscaling/v1, k8s.io/kubernetes
``registry/apps/*/storage``)."""

from __future__ import annotations

from apiserver.meta.objects import Object

_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale(obj: Object, replicas: int, selector: str) -> Object:
    """``replicas``: status.replicas; ``selector``: the label selector as a query string."""
    spec = obj.get("spec") or {}
    desired = spec.get("replicas", 0)
    status: Object = {"replicas": replicas}
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {k: obj["metadata"][k] for k in _METADATA if obj["metadata"].get(k)},
        "spec": {"replicas": desired} if desired else {},
        "status": status,
    }
