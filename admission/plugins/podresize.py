"""PodResizeValidator: a pod that is bound to a node asks for no more than the node has, and only
nodes with Linux resize pods (kubernetes ``plugin/pkg/admission/podresize``)."""

from __future__ import annotations

from collections.abc import Mapping

from admission.attributes import Attributes, Lookup
from admission.objects import PODS
from admission.refusal import forbidden
from apiserver.errors import Forbidden
from apiserver.kinds.common import podresources
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity, parse_quantity

NODES = GroupResource("", "nodes")
_OS = "kubernetes.io/os"
_UNITS = {"cpu": -3, "memory": 0}
"""Powers of ten in which a refusal tells amounts."""


class PodResizeValidator:
    name = "PodResizeValidator"

    def handles(self, attributes: Attributes) -> bool:
        return (
            attributes.group_resource == PODS
            and attributes.operation == "UPDATE"
            and attributes.subresource == "resize"
        )

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        pod, old = attributes.object, attributes.old
        assert pod is not None and old is not None
        name = pod["spec"].get("nodeName")
        if not name or pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        node = await lookup.get(NODES, "", name)
        if node is None:
            raise forbidden(attributes, f'node "{name}" not found')
        system = (node["metadata"].get("labels") or {}).get(_OS, "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _refusal(attributes, why, "UnsupportedPlatform")
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        if lacking := _lacking(podresources.whole(pod["spec"], "requests"), allocatable):
            why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
            raise _refusal(attributes, why, "NodeCapacity")


def _lacking(requests: Mapping[str, Quantity], allocatable: Object) -> list[str]:
    """What a node has too little of; it has none of what it does not tell."""
    texts = []
    for name, unit in _UNITS.items():
        wanted = requests.get(name, Quantity())
        there = parse_quantity(allocatable.get(name, "0"))
        if wanted > there:
            texts.append(
                f"{name}, requested: {wanted.scaled(unit)}, allocatable: {there.scaled(unit)}"
            )
    return texts


def _refusal(attributes: Attributes, why: str, cause: str) -> Forbidden:
    refusal = forbidden(attributes, why)
    refusal.details = {**(refusal.details or {}), "causes": [{"reason": cause}]}
    return refusal
