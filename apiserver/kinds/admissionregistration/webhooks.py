"""Validating and mutating webhooks: defaults and validation of one entry, and what the two
configurations share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    duplicate,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.admissionregistration import rules
from apiserver.kinds.admissionregistration.admissionkind import AdmissionKind
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.client_config import client_config_errors, default_client_config
from apiserver.meta import names
from apiserver.meta.objects import Object, seen_before
from apiserver.meta.times import age
from apiserver.schema.labelselector import validate_label_selector

_SIDE_EFFECTS = ["None", "NoneOnDryRun"]
_REVIEWS = ["v1", "v1beta1"]


class WebhookConfiguration(AdmissionKind):
    deep_generation = True
    standard_finalizers = False
    metadata_update = False
    allow_unconditional_update = False
    mutating = False

    def default(self, obj: Object, version: str) -> None:
        for hook in obj.get("webhooks") or []:
            if hook.get("failurePolicy") is None:
                hook["failurePolicy"] = "Fail"
            rules.default_selectors(hook)
            if hook.get("timeoutSeconds") is None:
                hook["timeoutSeconds"] = 10
            if self.mutating and hook.get("reinvocationPolicy") is None:
                hook["reinvocationPolicy"] = "Never"
            default_client_config(hook.get("clientConfig"))
            rules.default_rules(hook.get("rules"))

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("webhooks") or [], self.mutating))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [
            metadata["name"],
            len(obj.get("webhooks") or []),
            age(metadata.get("creationTimestamp"), now),
        ]


def _errors(hooks: list[Object], mutating: bool) -> c.Errors:
    seen: set[str] = set()
    for i, hook in enumerate(hooks):
        path, name = FieldPath("webhooks").at(i), hook.get("name", "")
        yield from _name(name, path.child("name"))
        for j, rule in enumerate(hook.get("rules") or []):
            yield from rules.rule_errors(rule, path.child("rules").at(j))
        yield from _policies(hook, path, mutating)
        for member in ("namespaceSelector", "objectSelector"):
            yield from validate_label_selector(hook.get(member), path.child(member))
        yield from client_config_errors(hook.get("clientConfig") or {}, path.child("clientConfig"))
        yield from rules.match_conditions_errors(
            hook.get("matchConditions"), path.child("matchConditions")
        )
        yield from _review_versions(
            hook.get("admissionReviewVersions") or [], path.child("admissionReviewVersions")
        )
        if name and name in seen:
            yield duplicate(path.child("name"), name)
        seen.add(name)


def _name(name: str, path: FieldPath) -> c.Errors:
    """A fully qualified name."""
    if not name:
        yield required(path)
        return
    wrong = list(c.dns_subdomain(name, path))
    yield from wrong
    if not wrong and name.count(".") < 2:
        yield invalid(
            path, name, "should be a domain with at least three segments separated by dots"
        )


def _policies(hook: Object, path: FieldPath, mutating: bool) -> c.Errors:
    yield from c.optional_one_of(
        hook.get("failurePolicy"), path.child("failurePolicy"), rules.FAILURE_POLICIES
    )
    yield from c.optional_one_of(
        hook.get("matchPolicy"), path.child("matchPolicy"), rules.MATCH_POLICIES
    )
    effects = hook.get("sideEffects")
    if effects is None:
        yield required(path.child("sideEffects"), f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    elif effects not in _SIDE_EFFECTS:
        yield not_supported(path.child("sideEffects"), effects, _SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        yield invalid(
            path.child("timeoutSeconds"),
            seconds,
            "the timeout value must be between 1 and 30 seconds",
        )
    if mutating:
        yield from c.optional_one_of(
            hook.get("reinvocationPolicy"),
            path.child("reinvocationPolicy"),
            rules.REINVOCATION_POLICIES,
        )


def _review_versions(versions: list[str], path: FieldPath) -> c.Errors:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_REVIEWS)}")
        return
    for i, (version, again) in enumerate(zip(versions, seen_before(versions), strict=True)):
        if again:
            yield invalid(path.at(i), version, "duplicate version")
        else:
            yield from c.name(version, path.at(i), names.dns1035_label)
    if not any(version in _REVIEWS for version in versions):
        yield invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}")
