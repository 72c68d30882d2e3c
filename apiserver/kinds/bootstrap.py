"""Objects that every tenant begins with."""

from __future__ import annotations

from apiserver.kinds.base import Object


def bootstrap_objects() -> list[Object]:
    names = ("default", "kube-system", "kube-public", "kube-node-lease")
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
