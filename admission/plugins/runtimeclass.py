"""RuntimeClass: a pod's overhead and scheduling come from the runtime class that it names
(plugin/pkg/admission/runtimeclass)."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import OfObjects
from admission.refusal import forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, frozen

CLASSES = GroupResource("node.k8s.io", "runtimeclasses")


class RuntimeClass(OfObjects):
    name = "RuntimeClass"

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        pod = attributes.object
        name = (pod or {}).get("spec", {}).get("runtimeClassName")
        if pod is None or not name:
            return
        runtime_class = await lookup.get(CLASSES, "", name)
        if runtime_class is None:
            why = f'pod rejected: RuntimeClass "{name}" not found'
            raise forbidden(attributes, why)
        self._overhead(attributes, pod["spec"], runtime_class)
        self._scheduling(attributes, pod["spec"], runtime_class)

    def _overhead(self, attributes: Attributes, spec: Object, runtime_class: Object) -> None:
        overhead = (runtime_class.get("overhead") or {}).get("podFixed")
        if overhead is None:
            return
        if spec.get("overhead") and spec["overhead"] != overhead:
            why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise forbidden(attributes, why)
        spec["overhead"] = dict(overhead)

    def _scheduling(self, attributes: Attributes, spec: Object, runtime_class: Object) -> None:
        scheduling = runtime_class.get("scheduling") or {}
        selector = spec.get("nodeSelector") or {}
        for key, value in (scheduling.get("nodeSelector") or {}).items():
            if selector.get(key, value) != value:
                why = (
                    "conflict: the runtimeClass.scheduling.nodeSelector conflicts with "
                    "the pod's nodeSelector"
                )
                raise forbidden(attributes, why)
            selector[key] = value
        if selector:
            spec["nodeSelector"] = selector
        tolerated = set(map(frozen, spec.get("tolerations") or ()))
        for toleration in scheduling.get("tolerations") or ():
            if frozen(toleration) not in tolerated:
                tolerated.add(frozen(toleration))
                spec.setdefault("tolerations", []).append(dict(toleration))

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        spec = (attributes.object or {}).get("spec", {})
        if spec.get("overhead") and not spec.get("runtimeClassName"):
            raise forbidden(
                attributes,
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                "Overhead",
            )
