"""Label selectors as objects carry them: matching and how tables show them
(`apiserver.schema.labelselector` validates them).

Sources: k8s.io/apimachinery ``apis/meta/v1/helpers.go``, ``labels``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.fielderrors import FieldPath, GoSyntax
from apiserver.kinds.common.internal import versioned
from apiserver.meta.objects import ReadOnlyObject
from apiserver.schema.definitions import META
from apiserver.schema.labelselector import validate_label_selector

Selector = Mapping[str, Any]


def is_empty(selector: Selector | None) -> bool:
    """Selects everything (or, where it is absent, nothing)."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def problem(selector: Selector | None) -> bool:
    """Whether the selector cannot be turned into a matcher: the condition of ``invalid label
    selector``."""
    return selector is not None and bool(validate_label_selector(selector, FieldPath("")))


def matches(selector: Selector | None, labels: Mapping[str, str] | None) -> bool:
    """An absent selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    labels = labels or {}
    if any(labels.get(k) != v for k, v in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_requirement_matches(r, labels) for r in selector.get("matchExpressions") or ())


def _requirement_matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = requirement.get("key", ""), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return labels.get(key) not in values or key not in labels
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def show_labels(labels: Mapping[str, str] | None) -> str:
    """``a=b,c=d``, sorted, ``<none>`` when empty."""
    return ",".join(f"{k}={v}" for k, v in sorted((labels or {}).items())) or "<none>"


def quoted(selector: Selector | None) -> GoSyntax:
    """A selector as messages quote it: its members in the order of the Go type."""
    return versioned(f"{META}LabelSelector", selector)


def show(selector: Selector | None) -> str:
    """A selector as tables show it (metav1.FormatLabelSelector)."""
    if selector is None:
        return "<none>"
    if problem(selector):
        return "<error>"
    parts = [(k, f"{k}={v}") for k, v in (selector.get("matchLabels") or {}).items()]
    parts += [
        (r.get("key", ""), _show_requirement(r)) for r in selector.get("matchExpressions") or ()
    ]
    return ",".join(text for _, text in sorted(parts, key=lambda p: p[0])) or "<none>"


def _show_requirement(requirement: Mapping[str, Any]) -> str:
    key, values = requirement.get("key", ""), ",".join(sorted(requirement.get("values") or ()))
    match requirement.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return f"{key}"
        case _:
            return f"!{key}"


def as_go_prints(selector: ReadOnlyObject | None) -> str:
    """As Go prints a LabelSelector (its generated String method)."""
    if selector is None:
        return "nil"
    labels = "".join(f"{k}: {v}," for k, v in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{r.get('key', '')},Operator:{r.get('operator', '')},"
        f"Values:[{' '.join(r.get('values') or ())}],}},"
        for r in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )
