"""CSIDriver."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, invalid, not_supported, required
from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.registration import register
from apiserver.meta.times import age

_SPEC = FieldPath("spec")
_LIFECYCLE = ["Persistent", "Ephemeral"]
_DEFAULTS = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}
_COUNTED = ("tokenRequests", "requiresRepublish", "seLinuxMount")


@register("storage.k8s.io", "CSIDriver")
class CSIDriver(Kind):
    allow_unconditional_update = False
    returns_deleted = True
    generation = False

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        for name, value in _DEFAULTS.items():
            if spec.get(name) is None:
                spec[name] = value
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """The generation counts only what kubelets must act on."""
        generation = old["metadata"].get("generation", 0)
        generation += any(obj["spec"].get(n) != old["spec"].get(n) for n in _COUNTED)
        if generation:
            obj["metadata"]["generation"] = generation

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        name = obj["metadata"].get("name", "")
        return [*(csi_driver_name(name, FieldPath("name")) if name else ()), *_errors(obj["spec"])]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        # The first path is misspelt upstream too.
        pairs = (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes"))
        return [e for name, shown in pairs for e in c.immutable(obj["spec"].get(name), old["spec"].get(name), _SPEC.child(shown))]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        tokens = spec.get("tokenRequests")
        return [
            metadata["name"],
            spec.get("attachRequired", True),
            spec.get("podInfoOnMount", False),
            spec.get("storageCapacity", False),
            ",".join(t.get("audience", "") for t in tokens) if tokens is not None else "<unset>",
            spec.get("requiresRepublish", False),
            ",".join(spec.get("volumeLifecycleModes") or []),
            age(metadata.get("creationTimestamp"), now),
        ]


def _errors(spec: Object) -> c.Errors:
    yield from c.one_of(spec.get("fsGroupPolicy"), _SPEC.child("fsGroupPolicy"), ["File", "None", "ReadWriteOnceWithFSType"])
    yield from _token_requests(spec.get("tokenRequests") or [], _SPEC.child("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or []:
        if mode not in _LIFECYCLE:
            yield not_supported(_SPEC.child("volumeLifecycleModes"), mode, _LIFECYCLE)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        yield invalid(_SPEC.child("nodeAllocatableUpdatePeriodSeconds"), period, "must be greater than or equal to 10 seconds")
    if spec.get("serviceAccountTokenInSecrets") is not None and not spec.get("tokenRequests"):
        yield required(_SPEC.child("tokenRequests"), "must be specified when serviceAccountTokenInSecrets is set")


def _token_requests(requests: list[Object], path: FieldPath) -> c.Errors:
    seen: set[str] = set()
    for i, request in enumerate(requests):
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in seen:
            yield duplicate(path.at(i).child("audience"), audience)
        seen.add(audience)
        if seconds is None:
            continue
        if seconds < 600:
            yield invalid(path.at(i).child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
        if seconds > 1 << 32:
            yield invalid(path.at(i).child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds")
