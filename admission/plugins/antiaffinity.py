"""LimitPodHardAntiAffinityTopology: pods keep away from each other by node, not by anything larger
(kubernetes ``plugin/pkg/admission/antiaffinity``)."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import PODS, WRITES, OfObjects
from apiserver.errors import Forbidden

_HOSTNAME = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology(OfObjects):
    name = "LimitPodHardAntiAffinityTopology"
    operations = WRITES

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        assert attributes.object is not None
        affinity = attributes.object["spec"].get("affinity") or {}
        terms = (affinity.get("podAntiAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        for term in terms or ():
            key = term.get("topologyKey", "")
            if key != _HOSTNAME:
                why = (
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but "
                    f"only key {_HOSTNAME} is allowed"
                )
                raise Forbidden(PODS, attributes.object["metadata"].get("name", ""), why)
