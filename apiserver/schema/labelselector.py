"""Validation of labels and of LabelSelector objects (k8s.io/apimachinery
``apis/meta/v1/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, required
from apiserver.meta.names import label_key, label_value


def validate_labels(labels: Mapping[str, str] | None, path: FieldPath) -> FieldErrors:
    """Keys and values of ``metadata.labels`` and of plain selectors; errors name the map, not the
    key."""
    errors: FieldErrors = []
    for key, value in (labels or {}).items():
        errors += [invalid(path, key, complaint) for complaint in label_key(key)]
        errors += [invalid(path, value, complaint) for complaint in label_value(value)]
    return errors


def validate_label_selector(
    selector: Mapping[str, Any] | None, path: FieldPath, *, allow_unknown_operators: bool = False
) -> FieldErrors:
    """``allow_unknown_operators``: for access reviews."""
    if selector is None:
        return []
    errors = validate_labels(selector.get("matchLabels"), path.child("matchLabels"))
    for i, requirement in enumerate(selector.get("matchExpressions") or []):
        at = path.child("matchExpressions").at(i)
        errors += _requirement(requirement, at, allow_unknown_operators)
    return errors


def _requirement(
    requirement: Mapping[str, Any], path: FieldPath, any_operator: bool
) -> FieldErrors:
    errors: FieldErrors = []
    operator = requirement.get("operator") or ""
    values = requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(required(path.child("values"), why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(path.child("values"), why))
    elif not any_operator:
        errors.append(invalid(path.child("operator"), operator, "not a valid selector operator"))
    key = requirement.get("key") or ""
    errors += [invalid(path.child("key"), key, complaint) for complaint in label_key(key)]
    for i, value in enumerate(values):
        at = path.child("values").at(i)
        errors += [invalid(at, value, complaint) for complaint in label_value(value)]
    return errors
