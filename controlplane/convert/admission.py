"""Webhook configurations of admissionregistration.k8s.io/v1beta1 to v1."""

from __future__ import annotations

from controlplane.convert.rule import Conversion, as_list

_DEFAULTS = {
    "failurePolicy": "Ignore",
    "matchPolicy": "Exact",
    "timeoutSeconds": 30,
    "admissionReviewVersions": ["v1beta1"],
}
_PERMITTED = ("None", "NoneOnDryRun")


def webhooks(conversion: Conversion) -> None:
    seen: set[object] = set()
    for i, webhook in enumerate(as_list(conversion.obj.get("webhooks"))):
        path = f"webhooks[{i}]"
        for name, old in _DEFAULTS.items():
            conversion.keep_default(webhook, name, old, path)
        if webhook.get("sideEffects") not in _PERMITTED:
            webhook.pop("sideEffects", None)
            conversion.note(
                f"{path}.sideEffects: required now, None or NoneOnDryRun; only the webhook's "
                f"author knows which: write it"
            )
        if webhook.get("name") in seen:
            conversion.note(
                f"{path}.name: must be unique among the webhooks of one configuration now"
            )
        seen.add(webhook.get("name"))
