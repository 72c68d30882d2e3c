"""pods/binding: what a Binding does to its pod (BindingREST of ``pkg/registry/core/pod``). The kind
Binding checks itself."""

from __future__ import annotations

from datetime import datetime

from apiserver.errors import Conflict
from apiserver.kinds.core import podconditions
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, copy_json

_BINDING = GroupResource("", "pods/binding")


def assign(pod: Object, binding: Object, now: datetime) -> Object:
    """The pod on the binding's node, with the binding's labels and annotations laid over its own;
    neither argument changes.

    Raises Conflict for a pod that is being deleted, has a node or waits behind scheduling gates.
    Generation stays as it is; a node that was nominated counts no more.
    """
    why = _obstacle(pod)
    if why:
        raise Conflict(_BINDING, pod["metadata"]["name"], why)
    bound = copy_json(pod)
    bound["spec"]["nodeName"] = binding["target"]["name"]
    for name in ("labels", "annotations"):
        added = (binding.get("metadata") or {}).get(name)
        if added:
            bound["metadata"][name] = {**(bound["metadata"].get(name) or {}), **added}
    podconditions.put(bound, now, "PodScheduled")
    bound["status"].pop("nominatedNodeName", None)
    return bound


def _obstacle(pod: Object) -> str:
    name, spec = pod["metadata"]["name"], pod["spec"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""
