"""NodeDeclaredFeatureValidator: a pod that runs is changed only in ways of which its node says that
it can follow (kubernetes ``plugin/pkg/admission/nodedeclaredfeatures``, k8s.io/component-helpers
``nodedeclaredfeatures/features``)."""

from __future__ import annotations

from collections.abc import Callable

from admission.attributes import Attributes, Lookup
from admission.objects import PODS
from admission.refusal import forbidden
from apiserver.kinds.common.podresources import amounts
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity

NODES = GroupResource("", "nodes")
GATE = "NodeDeclaredFeatures"


class NodeDeclaredFeatureValidator:
    name = "NodeDeclaredFeatureValidator"

    def handles(self, attributes: Attributes) -> bool:
        return (
            attributes.group_resource == PODS
            and attributes.operation == "UPDATE"
            and attributes.subresource in ("", "resize")
            and features.enabled(GATE)
        )

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        pod, old = attributes.object, attributes.old
        assert pod is not None and old is not None
        name = pod["spec"].get("nodeName")
        if not name or pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        needed = [feature for feature, needs in _FEATURES.items() if needs(old, pod)]
        if not needed:
            return
        node = await lookup.get(NODES, "", name)
        if node is None:
            raise forbidden(attributes, f'node "{name}" not found')
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        if missing := [feature for feature in needed if feature not in declared]:
            why = (
                f"pod update requires features {', '.join(missing)} which are not available on "
                f'node "{name}"'
            )
            raise forbidden(attributes, why)


def _resizes_guaranteed(old: Object, new: Object) -> bool:
    """Whether containers of a pod whose CPUs may be its own get more of them, or fewer."""
    if (old.get("status") or {}).get("qosClass") != "Guaranteed":
        return False
    pairs = zip(
        old["spec"].get("containers") or (), new["spec"].get("containers") or (), strict=False
    )
    return any(_cpu(before) != _cpu(after) for before, after in pairs)


def _cpu(container: Object) -> Quantity:
    return amounts(container, "requests").get("cpu", Quantity())


def _resizes_pod(old: Object, new: Object) -> bool:
    return any(
        amounts(old["spec"], member) != amounts(new["spec"], member)
        for member in ("requests", "limits")
    )


_FEATURES: dict[str, Callable[[Object, Object], bool]] = {
    "GuaranteedQoSPodCPUResize": _resizes_guaranteed,
    "InPlacePodLevelResourcesVerticalScaling": _resizes_pod,
}
"""Those of 1.36 that an update may need; the others are about fields that never change."""
