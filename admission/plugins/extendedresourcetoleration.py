"""ExtendedResourceToleration: pods that ask for a device tolerate the taint of nodes that have it
(kubernetes ``plugin/pkg/admission/extendedresourcetoleration``)."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import WRITES, OfObjects
from apiserver.kinds.common.resources import is_extended
from apiserver.meta.objects import Object


class ExtendedResourceToleration(OfObjects):
    name = "ExtendedResourceToleration"
    operations = WRITES

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        names = {
            name
            for container in containers
            for name in (container.get("resources") or {}).get("requests") or {}
            if is_extended(name)
        }
        for name in sorted(names):
            _tolerate(spec, {"key": name, "operator": "Exists", "effect": "NoSchedule"})


def _tolerate(spec: Object, toleration: Object) -> None:
    """In the place of one that says the same, apart from its time."""
    tolerations = [*(spec.get("tolerations") or ())]
    for i, other in enumerate(tolerations):
        if {k: v for k, v in other.items() if k != "tolerationSeconds" and v} == toleration:
            tolerations[i] = toleration
            break
    else:
        tolerations.append(toleration)
    spec["tolerations"] = tolerations
