"""ValidatingAdmissionPolicy."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, invalid, required
from apiserver.kinds.admissionregistration.expressions import (
    ANNOTATION,
    CONDITION,
    MESSAGE,
    Expression,
)
from apiserver.kinds.admissionregistration.policies import (
    SPEC,
    PolicyKind,
    param_kind_cell,
    variables_of,
)
from apiserver.kinds.admissionregistration.rules import GROUP, expression_errors
from apiserver.kinds.base import STATUS_KEEPS_METADATA, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import metaconditions
from apiserver.kinds.common.internal import quote_list
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"]
_MISSING = "validations or auditAnnotations must contain at least one item"
_LONGEST_VALUE = 5 * 1024


@register(GROUP, "ValidatingAdmissionPolicy")
class ValidatingAdmissionPolicy(PolicyKind):
    status = True
    status_keeps = STATUS_KEEPS_METADATA

    def default(self, obj: Object, version: str) -> None:
        super().default(obj, version)
        obj.setdefault("status", {})

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {}

    def outcome_errors(self, spec: Object, name: str) -> c.Errors:
        return _outcomes(spec, name)

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        conditions = metaconditions.conditions_of(obj)
        return [
            *_type_checking((obj.get("status") or {}).get("typeChecking") or {}),
            *metaconditions.validate(conditions, FieldPath("status.conditions")),
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        return [
            metadata["name"],
            len(spec.get("validations") or []),
            param_kind_cell(spec),
            age(metadata.get("creationTimestamp"), now),
        ]


def _type_checking(checking: Object) -> c.Errors:
    path = FieldPath("status.typeChecking.expressionWarnings")
    for i, warning in enumerate(checking.get("expressionWarnings") or []):
        for member in ("warning", "fieldRef"):
            text = warning.get(member, "")
            if not (text.strip() if member == "fieldRef" else text):
                yield required(path.at(i).child(member))


def _outcomes(spec: Object, name: str) -> c.Errors:
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield required(SPEC.child("validations"), _MISSING)
        yield required(SPEC.child("auditAnnotations"), _MISSING)
    for i, validation in enumerate(validations):
        yield from _validation(validation, spec, SPEC.child("validations").at(i))
    path = SPEC.child("auditAnnotations")
    if len(annotations) > 20:
        text = quote_list("admissionregistration.v1.AuditAnnotation", annotations)
        yield invalid(path, text, "must not have more than 20 auditAnnotations")
    seen: set[str] = set()
    for i, annotation in enumerate(annotations):
        key = annotation.get("key", "")
        yield from _annotation(annotation, spec, name, path.at(i))
        if key in seen:
            yield duplicate(path.at(i).child("key"), key)
        seen.add(key)


def _validation(validation: Object, spec: Object, path: FieldPath) -> c.Errors:
    params, variables = spec.get("paramKind") is not None, variables_of(spec)
    main = Expression(
        validation.get("expression", ""), CONDITION, params=params, variables=variables
    )
    yield from expression_errors(main, path.child("expression"), "expression is not specified")
    text = validation.get("messageExpression", "")
    if text and not text.strip():
        yield invalid(path.child("messageExpression"), text, "must be non-empty if specified")
    elif text:
        source = Expression(text, MESSAGE, params=params, authorizer=False, variables=variables)
        yield from expression_errors(source, path.child("messageExpression"), "")
    message = validation.get("message", "")
    if message and not message.strip():
        yield invalid(path.child("message"), message, "must be non-empty if specified")
    elif re.search(r"[\n\r]", message.strip()):
        yield invalid(path.child("message"), message, "must not contain line breaks")
    yield from c.optional_one_of(validation.get("reason"), path.child("reason"), _REASONS)


def _annotation(annotation: Object, spec: Object, name: str, path: FieldPath) -> c.Errors:
    if name:
        yield from c.qualified_name(f"{name}/{annotation.get('key', '')}", path.child("key"))
    else:
        yield invalid(
            path.child("key"), annotation.get("key", ""), "requires metadata.name be non-empty"
        )
    source, at = annotation.get("valueExpression", ""), path.child("valueExpression")
    if len(source.strip().encode()) > _LONGEST_VALUE:
        yield required(at, f"must not exceed {_LONGEST_VALUE} bytes in length")
        return
    params = spec.get("paramKind") is not None
    expression = Expression(source.strip(), ANNOTATION, params=params, variables=variables_of(spec))
    yield from expression_errors(expression, at, "valueExpression is not specified", written=source)
