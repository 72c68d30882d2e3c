"""CSIDriver."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    duplicate,
    invalid,
    not_supported,
)
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
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
_TOKENS_IN_SECRETS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
    "prevent possible logging of tokens in volume attributes"
)


@register("storage.k8s.io", "CSIDriver")
class CSIDriver(Kind):
    allow_unconditional_update = False
    returns_deleted = True
    generation = False
    metadata_again = False

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        for name, value in _DEFAULTS.items():
            if spec.get(name) is None:
                spec[name] = value
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        """VolumeLimitScaling is off in 1.36."""
        obj["spec"].pop("preventPodSchedulingIfMissing", None)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """The generation counts changes, from none at all."""
        obj["spec"].pop("preventPodSchedulingIfMissing", None)
        self.count_generation(obj, old)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj["spec"]))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        spec, before = obj["spec"], old["spec"] if old is not None else {}
        tokens = spec.get("tokenRequests") or []
        if not tokens or spec.get("serviceAccountTokenInSecrets") is not None:
            return []
        return [] if tokens == (before.get("tokenRequests") or []) else [_TOKENS_IN_SECRETS]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        # The first path is misspelt upstream too.
        pairs = (
            ("attachRequired", "attachedRequired"),
            ("volumeLifecycleModes", "volumeLifecycleModes"),
        )
        return [
            e
            for name, value_text in pairs
            for e in c.immutable(
                obj["spec"].get(name), old["spec"].get(name), _SPEC.child(value_text)
            )
        ]

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
    yield from c.one_of(
        spec.get("fsGroupPolicy"),
        _SPEC.child("fsGroupPolicy"),
        ["File", "None", "ReadWriteOnceWithFSType"],
    )
    yield from _token_requests(spec.get("tokenRequests") or [], _SPEC.child("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or []:
        if mode not in _LIFECYCLE:
            yield not_supported(_SPEC.child("volumeLifecycleModes"), mode, _LIFECYCLE)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        yield invalid(
            _SPEC.child("nodeAllocatableUpdatePeriodSeconds"),
            period,
            "must be greater than or equal to 10 seconds",
        )
    if spec.get("serviceAccountTokenInSecrets") is not None and not spec.get("tokenRequests"):
        yield invalid(
            _SPEC.child("serviceAccountTokenInSecrets"),
            spec["serviceAccountTokenInSecrets"],
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        )


def _token_requests(requests: list[Object], path: FieldPath) -> c.Errors:
    seen: set[str] = set()
    for i, request in enumerate(requests):
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in seen:
            yield duplicate(path.at(i).child("audience"), audience)
            continue
        seen.add(audience)
        if seconds is None:
            continue
        if seconds < 600:
            yield invalid(
                path.at(i).child("expirationSeconds"),
                seconds,
                "may not specify a duration less than 10 minutes",
            )
        if seconds > 1 << 32:
            yield invalid(
                path.at(i).child("expirationSeconds"),
                seconds,
                "may not specify a duration larger than 2^32 seconds",
            )
