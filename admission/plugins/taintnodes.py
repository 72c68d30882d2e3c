"""TaintNodesByCondition: a new node takes no pods until somebody says that it is ready."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import OfObjects
from apiserver.meta.gvk import GroupResource

NODES = GroupResource("", "nodes")
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(OfObjects):
    name = "TaintNodesByCondition"
    resources = frozenset({NODES})

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.object is None:
            return
        taints = attributes.object.setdefault("spec", {}).setdefault("taints", [])
        if not any(
            t.get("key") == NOT_READY["key"] and t.get("effect") == NOT_READY["effect"]
            for t in taints
        ):
            taints.append(dict(NOT_READY))
