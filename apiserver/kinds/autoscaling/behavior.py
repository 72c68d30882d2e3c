"""spec.behavior of a HorizontalPodAutoscaler: defaults and rules (k8s.io/kubernetes
``apis/autoscaling/v2/defaults.go``, validation)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver.fielderrors import FieldPath, invalid, not_supported, required
from apiserver.kinds.common import checks
from apiserver.meta.objects import Object
from apiserver.meta.quantity import parse_quantity
from apiserver.schema.decode_errors import Empty

_UP_POLICIES = (("Pods", 4, 15), ("Percent", 100, 15))
_DOWN_POLICIES = (("Percent", 100, 15),)
_MAX_WINDOW, _MAX_PERIOD = 3600, 1800
_NO_POLICY = "must specify at least one Policy"


def default(behavior: Object) -> None:
    """A given behavior is completed in both directions."""
    up, down = behavior.get("scaleUp") or {}, behavior.get("scaleDown") or {}
    if up.get("stabilizationWindowSeconds") is None:
        up["stabilizationWindowSeconds"] = 0
    for rules, policies in ((up, _UP_POLICIES), (down, _DOWN_POLICIES)):
        if rules.get("selectPolicy") is None:
            rules["selectPolicy"] = "Max"
        if rules.get("policies") is None:
            rules["policies"] = [
                {"type": t, "value": v, "periodSeconds": p} for t, v, p in policies
            ]
    behavior["scaleUp"], behavior["scaleDown"] = up, down


def validate(behavior: Mapping[str, Any] | None, path: FieldPath) -> checks.Errors:
    for direction in ("scaleUp", "scaleDown"):
        rules = (behavior or {}).get(direction)
        if rules is not None:
            yield from _rules(rules, path.child(direction))


def validate_empties(empties: Iterable[Empty], path: FieldPath) -> checks.Errors:
    """``policies: []`` is no policy, other than policies that were left out and have defaults."""
    for empty in empties:
        match empty.path:
            case ("spec", "behavior", "scaleUp" | "scaleDown" as direction, "policies"):
                yield required(path.child(direction, "policies"), _NO_POLICY)
            case _:
                pass


def _rules(rules: Mapping[str, Any], path: FieldPath) -> checks.Errors:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    at = path.child("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(at, window, "must be greater than or equal to zero")
    if window is not None and window > _MAX_WINDOW:
        yield invalid(at, window, f"must be less than or equal to {_MAX_WINDOW}")
    if select is not None and select not in ("Disabled", "Max", "Min"):
        yield not_supported(path.child("selectPolicy"), select, ["Disabled", "Max", "Min"])
    policies = rules.get("policies") or ()
    if not policies:
        yield required(path.child("policies"), _NO_POLICY)
    for i, policy in enumerate(policies):
        yield from _policy(policy, path.child("policies").at(i))
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse_quantity(tolerance).sign < 0:
        yield invalid(path.child("tolerance"), tolerance, checks.NEGATIVE)


def _policy(policy: Mapping[str, Any], path: FieldPath) -> checks.Errors:
    kind, value, period = (
        policy.get("type", ""),
        policy.get("value", 0),
        policy.get("periodSeconds", 0),
    )
    if kind not in ("Percent", "Pods"):
        yield not_supported(path.child("type"), kind, ["Percent", "Pods"])
    yield from checks.positive(value, path.child("value"))
    yield from checks.positive(period, path.child("periodSeconds"))
    if period > _MAX_PERIOD:
        yield invalid(
            path.child("periodSeconds"), period, f"must be less than or equal to {_MAX_PERIOD}"
        )
