"""Label and field selectors inside access reviews: validation, and reading them as requirements
(KEP-4601).

Sources: kubernetes ``pkg/apis/authorization/validation`` and ``pkg/registry/authorization/util``.
What cannot be read is left out: all requirements must hold, so fewer of them only widen the
question.
"""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, required
from apiserver.meta.fields import FieldRequirement, FieldSelectorError, parse_field_selector
from apiserver.meta.labels import (
    LabelSelectorError,
    Requirement,
    parse_label_selector,
    selector_from_object,
)
from apiserver.meta.objects import Object
from apiserver.schema.labelselector import validate_label_selector


def selector_errors(asked: Object, path: FieldPath) -> FieldErrors:
    """``asked``: resourceAttributes. Operators of newer clients pass."""
    errors: FieldErrors = []
    for member in ("fieldSelector", "labelSelector"):
        selector, at = asked.get(member), path.child(member)
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector"), selector.get("requirements") or []
        if raw and requirements:
            errors.append(
                invalid(
                    at.child("rawSelector"),
                    raw,
                    "may not specified at the same time as requirements",
                )
            )
        if not raw and not requirements:
            errors.append(
                required(
                    at.child("requirements"),
                    f"when {at} is specified, requirements or rawSelector is required",
                )
            )
        for i, requirement in enumerate(requirements):
            where = at.child("requirements").at(i)
            errors += (
                _field_requirement(requirement, where)
                if member == "fieldSelector"
                else _label_requirement(requirement, where)
            )
    return errors


def _label_requirement(requirement: Object, path: FieldPath) -> FieldErrors:
    errors = validate_label_selector(
        {"matchExpressions": [requirement]}, FieldPath(""), allow_unknown_operators=True
    )
    for error in errors:
        error.path = path + error.path.removeprefix("matchExpressions[0]")
    return errors


def _field_requirement(requirement: Object, path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if not requirement.get("key"):
        errors.append(required(path.child("key"), "must be specified"))
    if operator in ("In", "NotIn") and not values:
        errors.append(
            required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
        )
    if operator in ("Exists", "DoesNotExist") and values:
        errors.append(
            forbidden(
                path.child("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
        )
    return errors


def read_label_selector(selector: Object | None) -> tuple[tuple[Requirement, ...], bool]:
    """The requirements that can be read, and whether some cannot."""
    if selector is None:
        return (), False
    requirements = selector.get("requirements") or []
    if not requirements:
        try:
            return parse_label_selector(selector.get("rawSelector", "")).requirements, False
        except LabelSelectorError:
            return (), True
    parsed: list[Requirement] = []
    failed = False
    for requirement in requirements:
        try:
            parsed += selector_from_object({"matchExpressions": [requirement]}).requirements
        except LabelSelectorError:
            failed = True
    return tuple(parsed), failed


def read_field_selector(selector: Object | None) -> tuple[tuple[FieldRequirement, ...], bool]:
    """The requirements that can be read (one value each, In or NotIn), and whether some cannot."""
    if selector is None:
        return (), False
    requirements = selector.get("requirements") or []
    if not requirements:
        try:
            return parse_field_selector(selector.get("rawSelector", "")).requirements, False
        except FieldSelectorError:
            return (), True
    parsed: list[FieldRequirement] = []
    for requirement in requirements:
        operator = {"In": "=", "NotIn": "!="}.get(requirement.get("operator", ""))
        values = requirement.get("values") or []
        if operator and len(values) == 1:
            parsed.append(FieldRequirement(requirement.get("key", ""), operator, values[0]))
    return tuple(parsed), len(parsed) < len(requirements)
