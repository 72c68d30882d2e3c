"""Checks of x-kubernetes-validations when a CustomResourceDefinition is written (apiextensions
``validation/validation.go``).

`check_rules` is to be called for schemas that are structural; it reports malformed entries, rules
that do not compile, rules whose estimated cost is over budget, and oldSelf where old values cannot
be correlated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apiserver.cel.cost.ranges import MAX
from apiserver.cel.kubernetes.decltypes import DeclType, schema_decl_type
from apiserver.cel.kubernetes.fieldpath import FieldPathError, parse_field_path
from apiserver.cel.kubernetes.rulecompile import (
    NO_TYPE,
    CompiledRule,
    compile_node_rules,
    max_cardinality,
)
from apiserver.cel.syntax.escaping import escape
from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    GoSyntax,
    forbidden,
    internal,
    invalid,
    not_supported,
    required,
)
from apiserver.schema.types import Rule, Schema

RULE_LIMIT: Final = 10_000_000
SCHEMA_LIMIT: Final = 100_000_000
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
    "arrays, maps, and strings are declared)"
)
_CORRELATABLE = ("", "granular", "atomic")
_REASONS = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]


def check_rules(
    schema: Schema,
    path: str,
    suppress_rule_cost: bool = False,
    *,
    compiles: bool = True,
    broken: Sequence[str] = (),
) -> FieldErrors:
    """All errors of the rules of a resource's schema. path: of the schema itself, as
    ``spec.versions[0].schema.openAPIV3Schema``; suppress_rule_cost: leave out the limit of single
    rules, for a schema that an update does not change; compiles: False where the schema is not
    structural, so that only the form of entries can be checked; broken: where the schema has other
    errors, at and above which rules are not compiled."""
    check = _Check(suppress_rule_cost, compiles, broken)
    schema_errors, rule_errors = check.node(
        _Context(schema, None, 1, bool(schema.rules), None), FieldPath(path), None
    )
    errors = [*schema_errors, *rule_errors]
    if check.total > SCHEMA_LIMIT:
        expensive = sorted(check.expensive, key=lambda priced: -priced[1])[:4]
        why = (
            "contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema"
        )
        errors += [forbidden(where, why) for where, _ in expensive]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors.append(forbidden(path, cost_error(name, check.total, SCHEMA_LIMIT)))
    return errors


def cost_error(name: str, cost: int, limit: int) -> str:
    """How far over budget an estimate is."""
    factor = cost / limit
    if factor > 100.0:
        text = "more than 100x"
    else:
        text = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {text} {_ADVICE}"


@dataclass(slots=True)
class _Context:
    """A node on the way down. cardinality: how often it can occur in an object, None when
    unbounded; in_scope: whether the node or one above it has rules; declared: its CEL type once it
    was looked up."""

    schema: Schema
    parent: _Context | None
    cardinality: int | None
    in_scope: bool
    name: str | None
    declared: DeclType | None = field(default=None)

    def type(self) -> DeclType | None:
        """From the parent's type where the parent is in scope, else the schema's own. None: there
        is none, or the parent's type, if it is in scope, has no elements."""
        if not self.in_scope:
            return None
        if self.declared is None:
            above = self.parent.type() if self.parent is not None else None
            if above is not None and self.name is None:
                self.declared = above.element
                return self.declared
            if above is not None:
                self.declared = above.fields.get(escape(self.name or "") or "")
            if self.declared is None:
                self.declared = schema_decl_type(
                    self.schema, self.parent is None or self.schema.embedded_resource
                )
        return self.declared

    def no_type(self) -> str:
        """Why there is none."""
        if self.name is None and self.parent is not None and self.parent.type() is not None:
            return NO_TYPE
        return (
            "internal error: failed to construct type information for x-kubernetes-validations "
            "rules: unable to convert structural schema to CEL declarations"
        )

    def child(self, schema: Schema, name: str | None) -> _Context:
        most = _max_elements(self.schema)
        cardinality = (
            None if self.cardinality is None or most is None else min(self.cardinality * most, MAX)
        )
        return _Context(schema, self, cardinality, self.in_scope or bool(schema.rules), name)


def _max_elements(schema: Schema) -> int | None:
    if schema.type == "object" and schema.additional is not None:
        return max(schema.max_properties, 0) if schema.max_properties is not None else None
    if schema.type == "array":
        return max(schema.max_items, 0) if schema.max_items is not None else None
    return 1


class _Check:
    def __init__(self, suppress_rule_cost: bool, compiles: bool, broken: Sequence[str]) -> None:
        self.suppress_rule_cost, self.compiles, self.broken = suppress_rule_cost, compiles, broken
        self.total = 0
        self.expensive: list[tuple[str, int]] = []

    def node(
        self, context: _Context, path: FieldPath, uncorrelatable: FieldPath | None
    ) -> tuple[FieldErrors, FieldErrors]:
        """(errors of the schema, errors of its rules), of the node and all below."""
        schema = context.schema
        schema_errors: FieldErrors = []
        rule_errors: FieldErrors = []

        def descend(
            child: Schema, name: str | None, where: FieldPath, cut: FieldPath | None
        ) -> None:
            below = self.node(context.child(child, name), where, cut)
            schema_errors.extend(below[0])
            rule_errors.extend(below[1])

        if schema.additional is not None:
            descend(schema.additional, None, path.child("additionalProperties"), uncorrelatable)
        cut = uncorrelatable or (path if schema.map_type not in _CORRELATABLE else None)
        for name, prop in (schema.properties or {}).items():
            descend(prop, name, path.child("properties").key(name), cut)
        if schema.items is not None:
            cut = uncorrelatable or (path if schema.list_type != "map" else None)
            descend(schema.items, None, path.child("items"), cut)
        for i, rule in enumerate(schema.rules):
            schema_errors += _rule_form(rule, schema, path.child("x-kubernetes-validations").at(i))
        if schema.rules and not schema_errors and self.compiles and not self._broken_at(path):
            rule_errors += self.rules(
                context, path.child("x-kubernetes-validations"), uncorrelatable
            )
        return schema_errors, rule_errors

    def _broken_at(self, path: FieldPath) -> bool:
        return any(
            where.startswith(path) and where[len(path) : len(path) + 1] in ("", ".", "[")
            for where in self.broken
        )

    def rules(
        self, context: _Context, path: FieldPath, uncorrelatable: FieldPath | None
    ) -> FieldErrors:
        declared = context.type()
        if declared is None:
            return [internal(path, context.no_type())]
        errors: FieldErrors = []
        for i, compiled in enumerate(compile_node_rules(context.schema, declared)):
            errors += self.rule(compiled, context, declared, path.at(i), uncorrelatable)
        return errors

    def rule(
        self,
        compiled: CompiledRule,
        context: _Context,
        declared: DeclType,
        path: FieldPath,
        uncorrelatable: FieldPath | None,
    ) -> FieldErrors:
        errors: FieldErrors = []
        times = (
            context.cardinality if context.cardinality is not None else max_cardinality(declared)
        )
        errors += self.cost(
            "estimated rule cost", min(compiled.max_cost * times, MAX), path.child("rule")
        )
        if compiled.error:
            errors.append(invalid(path.child("rule"), rule_value(compiled.rule), compiled.error))
        if compiled.message_error:
            errors.append(
                invalid(
                    path.child("messageExpression"),
                    rule_value(compiled.rule),
                    compiled.message_error,
                )
            )
        elif compiled.message_program is not None:
            errors += self.cost(
                "estimated messageExpression cost",
                compiled.message_max_cost,
                path.child("messageExpression"),
            )
        return errors + _old_self_errors(compiled, path, uncorrelatable)

    def cost(self, name: str, cost: int, path: FieldPath) -> FieldErrors:
        self.total = min(self.total + cost, MAX)
        if cost >= SCHEMA_LIMIT // 100:
            self.expensive.append((path, cost))
        if cost > RULE_LIMIT and not self.suppress_rule_cost:
            return [forbidden(path, cost_error(name, cost, RULE_LIMIT))]
        return []


def _old_self_errors(
    compiled: CompiledRule, path: FieldPath, uncorrelatable: FieldPath | None
) -> FieldErrors:
    if compiled.uses_old_self and uncorrelatable is not None:
        why = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            f"{uncorrelatable}"
        )
        return [invalid(path.child("rule"), compiled.rule.rule, why)]
    optional = compiled.rule.optional_old_self
    if optional is not None and not compiled.uses_old_self:
        why = "may not be set if oldSelf is not used in rule"
        return [invalid(path.child("optionalOldSelf"), optional, why)]
    return []


def _rule_form(rule: Rule, schema: Schema, path: FieldPath) -> FieldErrors:
    """What is wrong with an entry before it is compiled."""
    errors: FieldErrors = []
    text, message = rule.rule.strip(), rule.message.strip()
    if not text:
        errors.append(required(path.child("rule"), "rule is not specified"))
    elif rule.message and not message:
        errors.append(
            invalid(path.child("message"), rule.message, "must be non-empty if specified")
        )
    elif _has_newlines(message):
        errors.append(invalid(path.child("message"), rule.message, "must not contain line breaks"))
    elif _has_newlines(text) and not message:
        errors.append(
            required(
                path.child("message"), "message must be specified if rule contains line breaks"
            )
        )
    if rule.message_expression and not rule.message_expression.strip():
        errors.append(
            required(
                path.child("messageExpression"), "messageExpression must be non-empty if specified"
            )
        )
    if rule.reason is not None and rule.reason not in _REASONS:
        errors.append(not_supported(path.child("reason"), rule.reason, _REASONS))
    return errors + _field_path_form(rule, schema, path.child("fieldPath"))


def _field_path_form(rule: Rule, schema: Schema, path: FieldPath) -> FieldErrors:
    if not rule.field_path:
        return []
    errors: FieldErrors = []
    if not rule.field_path.strip():
        errors.append(invalid(path, rule.field_path, "must be non-empty if specified"))
    if _has_newlines(rule.field_path):
        errors.append(invalid(path, rule.field_path, "must not contain line breaks"))
    try:
        parse_field_path(rule.field_path, schema)
    except FieldPathError:
        errors.append(invalid(path, rule.field_path, "must be a valid path"))
    return errors


def _has_newlines(text: str) -> bool:
    return "\n" in text or "\r" in text


_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def rule_value(rule: Rule) -> GoSyntax:
    """A rule as the message quotes it: Go's JSON of its internal type."""
    value: dict[str, Any] = {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self,
    }
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return GoSyntax("".join(_HTML.get(c, c) for c in text))
