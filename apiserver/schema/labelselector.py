"""Validation of labels and of LabelSelector objects (k8s.io/apimachinery
``apis/meta/v1/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, required
from apiserver.meta.names import label_key, label_value


def validate_label_name(key: str, path: FieldPath) -> FieldErrors:
    return [invalid(path, key, complaint) for complaint in label_key(key)]


def validate_labels(labels: Mapping[str, str] | None, path: FieldPath) -> FieldErrors:
    """Keys and values of ``metadata.labels`` and of plain selectors."""
    errors: FieldErrors = []
    for key, value in (labels or {}).items():
        errors += validate_label_name(key, path)
        errors += [invalid(path, value, complaint) for complaint in label_value(value)]
    return errors


def validate_label_selector(
    selector: Mapping[str, Any] | None,
    path: FieldPath,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operators: bool = False,
) -> FieldErrors:
    """``allow_invalid_values``: for updates of objects that already hold such values;
    ``allow_unknown_operators``: for access reviews."""
    if selector is None:
        return []
    errors = validate_labels(selector.get("matchLabels"), path.child("matchLabels"))
    for i, requirement in enumerate(selector.get("matchExpressions") or []):
        errors += _requirement(
            requirement,
            path.child("matchExpressions").at(i),
            allow_invalid_values,
            allow_unknown_operators,
        )
    return errors


def _requirement(
    requirement: Mapping[str, Any], path: FieldPath, any_value: bool, any_operator: bool
) -> FieldErrors:
    errors: FieldErrors = []
    operator = requirement.get("operator") or ""
    values = requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(
                required(
                    path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"
                )
            )
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(
                forbidden(
                    path.child("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                )
            )
    elif not any_operator:
        errors.append(invalid(path.child("operator"), operator, "not a valid selector operator"))
    errors += validate_label_name(requirement.get("key") or "", path.child("key"))
    if not any_value:
        for i, value in enumerate(values):
            errors += [
                invalid(path.child("values").at(i), value, complaint)
                for complaint in label_value(value)
            ]
    return errors
