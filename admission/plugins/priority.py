"""Priority: the number and the preemption policy behind a pod's priority class; at most one class
is the default.

Source: kubernetes ``plugin/pkg/admission/priority``.
"""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import PODS, WRITES, OfObjects
from admission.refusal import forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
_PREEMPT = "PreemptLowerPriority"


class Priority(OfObjects):
    name = "Priority"
    resources = frozenset({PODS, CLASSES})
    operations = WRITES

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.group_resource != PODS or attributes.object is None:
            return
        spec = attributes.object["spec"]
        if attributes.operation == "UPDATE":
            _keep(spec, (attributes.old or {}).get("spec", {}))
            return
        priority_class = await self._class_of(attributes, lookup, spec)
        value = priority_class.get("value", 0) if priority_class else 0
        policy = (priority_class or {}).get("preemptionPolicy") or _PREEMPT
        if spec.get("priority") is not None and spec["priority"] != value:
            why = (
                f"the integer value of priority ({spec['priority']}) must not be provided "
                f"in pod spec; priority admission"
            )
            raise forbidden(
                attributes,
                f"{why} controller computed {value} from the given PriorityClass name",
            )
        if spec.get("preemptionPolicy") is not None and spec["preemptionPolicy"] != policy:
            why = (
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must "
                f"not be provided in pod spec; priority admission"
            )
            raise forbidden(
                attributes,
                f"{why} controller computed {policy} from the given PriorityClass name",
            )
        spec["priority"], spec["preemptionPolicy"] = value, policy

    async def _class_of(
        self, attributes: Attributes, lookup: Lookup, spec: Object
    ) -> Object | None:
        name = spec.get("priorityClassName", "")
        if name:
            priority_class = await lookup.get(CLASSES, "", name)
            if priority_class is None:
                raise forbidden(attributes, f"no PriorityClass with name {name} was found")
            return priority_class
        defaults = [c for c in await lookup.list(CLASSES) if c.get("globalDefault")]
        chosen = min(defaults, key=lambda c: c.get("value", 0)) if defaults else None
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
        return chosen

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        proposed = attributes.object
        if (
            attributes.group_resource != CLASSES
            or proposed is None
            or not proposed.get("globalDefault")
        ):
            return
        for existing in await lookup.list(CLASSES):
            name = existing["metadata"]["name"]
            if existing.get("globalDefault") and name != attributes.name:
                why = (
                    f"PriorityClass {name} is already marked as default. Only one default can exist"
                )
                raise forbidden(attributes, why)


def _keep(spec: Object, old: Object) -> None:
    """An update that leaves priority out means the stored one."""
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and old.get(name) is not None:
            spec[name] = old[name]
