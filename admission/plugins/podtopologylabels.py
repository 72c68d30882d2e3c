"""PodTopologyLabels: pods carry the zone and the region of their node (kubernetes
``plugin/pkg/admission/podtopologylabels``). A Binding's labels become its pod's."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import PODS
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource

NODES = GroupResource("", "nodes")
GATE = "PodTopologyLabelsAdmission"
LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels:
    name = "PodTopologyLabels"

    def handles(self, attributes: Attributes) -> bool:
        return (
            attributes.group_resource == PODS
            and attributes.operation == "CREATE"
            and attributes.subresource in ("", "binding")
            and features.enabled(GATE)
        )

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        obj = attributes.object
        assert obj is not None
        if attributes.subresource:
            target = obj.get("target") or {}
            name = target.get("name", "") if target.get("kind") == "Node" else ""
        else:
            name = obj["spec"].get("nodeName") or ""
        node = await lookup.get(NODES, "", name) if name else None
        if node is None:
            return
        of_node, metadata = node["metadata"].get("labels") or {}, obj["metadata"]
        copied = {label: of_node[label] for label in LABELS if label in of_node}
        if copied:
            metadata["labels"] = {**copied, **(metadata.get("labels") or {})}
