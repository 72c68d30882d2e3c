"""x-kubernetes-validations at work: the run of a schema's rules over an object (apiextensions
``schema/cel/validation.go``).

`validate` walks an object along the tree of `rulenodes.compile_rules`. Transition rules run only
where the old value can be correlated: through maps, structs and lists of type map. Errors of values
that an update leaves unchanged are ratcheted into warnings.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from apiserver.cel.errors import OUT_OF_BUDGET, BudgetExceeded, CelError, EvalError
from apiserver.cel.kubernetes.binding import bind
from apiserver.cel.kubernetes.rulecompile import NO_TYPE, CompiledRule
from apiserver.cel.kubernetes.rulenodes import RuleNode
from apiserver.cel.kubernetes.timings import EVALUATED, observe
from apiserver.cel.plan.program import PER_CALL_LIMIT, ROOM, patience
from apiserver.cel.values import NONE, Optional
from apiserver.effort import Effort
from apiserver.fielderrors import ErrorType, FieldError, FieldErrors, FieldPath, GoSyntax, invalid
from apiserver.golang.strconv import go_quote
from apiserver.schema.correlate import Correlation, OldItems, Ratchet
from apiserver.schema.types import Rule, Schema

OBJECT_BUDGET: Final = 10_000_000
_MOST_TEXT: Final = 512 * 1024
"""Code points of all errors and warnings of an object. Upstream has no bound."""
_MOST_DETAIL: Final = 16 * 1024
"""Code points of what an evaluation says has failed."""
_UNTYPED: Final = f"rule compiler initialization error: {NO_TYPE}"
_MAX_MESSAGE: Final = 5 * 1024


@dataclass(slots=True)
class Outcome:
    """errors; warnings: ratcheted errors as texts for Warning headers; budget: cost units left,
    negative when they ran out."""

    errors: FieldErrors
    warnings: list[str]
    budget: int


def validate(
    node: RuleNode | None,
    obj: Any,
    old: Any = None,
    path: str = "",
    budget: int = OBJECT_BUDGET,
    ratchet: bool = True,
) -> Outcome:
    """Runs all rules over a JSON object. old: the stored object of an update, None on create;
    ratchet: whether rules that fail on unchanged values only warn (never those that use
    oldSelf)."""
    run = _Run(budget)
    if node is None or obj is None:
        return Outcome(run.errors, run.warnings, run.budget)
    with patience() as run.effort:
        correlation = (
            Ratchet(Correlation(obj, old, node.schema))
            if ratchet and old is not None
            else Ratchet(None)
        )
        run.node(node, FieldPath(path), obj, old, correlation)
    return Outcome(run.errors, run.warnings, run.budget)


class _OutOfBudget(Exception):
    """No further rules are run."""


_UNBOUND: Any = object()


class _Run:
    def __init__(self, budget: int) -> None:
        self.errors: FieldErrors = []
        self.warnings: list[str] = []
        self.budget = budget
        self.effort: Effort
        self.text = 0
        self.times = EVALUATED.of_thread()

    def bound(self, obj: Any, schema: Schema) -> Any:
        """The value with its parts converted for CEL; _UNBOUND when a part cannot be, so that each
        node below tries by itself."""
        try:
            return bind(obj, schema)
        except EvalError:
            return _UNBOUND

    def node(
        self, node: RuleNode, path: FieldPath, obj: Any, old: Any, correlation: Ratchet
    ) -> None:
        try:
            self._walk(node, path, obj, old, _UNBOUND, correlation)
        except _OutOfBudget:
            self.budget = -1
        except BudgetExceeded:  # between evaluations: the time is up
            self.budget = -1
            self.errors.append(invalid(path, node.schema.type, OUT_OF_BUDGET))

    def _walk(
        self, node: RuleNode, path: FieldPath, obj: Any, old: Any, bound: Any, correlation: Ratchet
    ) -> None:
        began = perf_counter()
        try:
            if obj is None:
                return
            if node.schema.rules and node.typed is None:
                self._report(invalid(path, node.schema.type, _UNTYPED), path, node.schema)
            elif node.schema.rules:
                if bound is _UNBOUND:
                    bound = self.bound(obj, node.schema)
                self._rules(node, path, obj, old, bound, correlation)
            if isinstance(obj, list):
                before = old if isinstance(old, list) else []
                self._items(node, path, obj, before, bound, correlation)
            elif isinstance(obj, dict):
                members = old if isinstance(old, dict) else {}
                self._members(node, path, obj, members, bound, correlation)
        finally:
            observe(self.times, perf_counter() - began)

    def _members(
        self,
        node: RuleNode,
        path: FieldPath,
        obj: dict[str, Any],
        old: dict[str, Any],
        bound: Any,
        c: Ratchet,
    ) -> None:
        for name, value in obj.items():
            part = bound[name] if bound is not _UNBOUND else _UNBOUND
            if node.additional is not None:
                self._walk(node.additional, path.key(name), value, old.get(name), part, c.key(name))
            child = node.properties.get(name)
            if child is not None:
                self._walk(child, path.child(name), value, old.get(name), part, c.key(name))

    def _items(
        self,
        node: RuleNode,
        path: FieldPath,
        obj: list[Any],
        old: list[Any],
        bound: Any,
        correlation: Ratchet,
    ) -> None:
        if node.items is None:
            return
        old_items = OldItems(node.schema, old)
        for i, value in enumerate(obj):
            part = bound[i] if bound is not _UNBOUND else _UNBOUND
            self._walk(
                node.items, path.at(i), value, old_items.get(value), part, correlation.index(i)
            )

    # --- the rules of one node --------------------------------------------------------------------
    def _rules(
        self, node: RuleNode, path: FieldPath, obj: Any, old: Any, bound: Any, correlation: Ratchet
    ) -> None:
        schema, rules = node.schema, node.rules()
        try:
            value = bind(obj, schema) if bound is _UNBOUND else bound
            plain, optional = self._activations(rules, value, old, schema)
        except EvalError as e:
            for rule in rules:
                self._report(
                    invalid(
                        path, schema.type, f"{e.message} evaluating rule: {_rule_text(rule.rule)}"
                    ),
                    path,
                    schema,
                )
            return
        effort = self.effort
        for compiled in rules:
            effort.steps -= compiled.weight
            if effort.steps < 0:
                effort.spend(0)
            effort.room = ROOM
            if compiled.error:
                self._report(
                    invalid(path, schema.type, f"rule compile error: {compiled.error}"),
                    path,
                    schema,
                )
            elif compiled.program is not None and not (
                compiled.uses_old_self and old is None and not compiled.rule.optional_old_self
            ):
                activation = optional if compiled.rule.optional_old_self else plain
                if not self._holds(compiled, activation, path, schema):
                    self._failed(compiled, plain, path, obj, schema, correlation)

    def _activations(
        self, rules: list[CompiledRule], value: Any, old: Any, schema: Schema
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        plain = {"self": value}
        if not any(r.uses_old_self for r in rules):
            return plain, plain
        if old is None:
            return plain, {"self": value, "oldSelf": NONE}
        before = bind(old, schema)
        return {"self": value, "oldSelf": before}, {"self": value, "oldSelf": Optional(before)}

    def _holds(
        self, compiled: CompiledRule, activation: dict[str, Any], path: FieldPath, schema: Schema
    ) -> bool:
        """Whether the rule holds; an evaluation that fails is reported here and counts as
        holding."""
        assert compiled.program is not None
        try:
            result, spent = compiled.program.run(activation, PER_CALL_LIMIT)
        except CelError as e:
            self._spend(e.spent, path, schema)
            text = _rule_text(compiled.rule)
            if isinstance(e, BudgetExceeded):
                detail = (
                    f"'{e.message}': no further validation rules will be run due to call "
                    f"cost exceeds limit for rule: {text}"
                )
                self.errors.append(invalid(path, schema.type, detail))
                raise _OutOfBudget from None
            if e.message.startswith("no such overload"):
                detail = (
                    f"'{e.message}': call arguments did not match a supported operator, "
                    f"function or macro signature for rule: {text}"
                )
            else:
                detail = f"{e.message[:_MOST_DETAIL]} evaluating rule: {text}"
            self._report(invalid(path, schema.type, detail), path, schema)
            return True
        self._spend(spent, path, schema)
        return result is True

    def _spend(self, units: int, path: FieldPath, schema: Schema) -> None:
        if units > self.budget:
            self.errors.append(invalid(path, schema.type, OUT_OF_BUDGET))
            raise _OutOfBudget
        self.budget -= units

    def _report(
        self, error: FieldError, path: FieldPath, schema: Schema, warn: bool = False
    ) -> None:
        """An error of a rule, or a warning in its place; when there are too many, the last one says
        that no more rules are run."""
        self.text += (
            len(error.path)
            + len(error.detail)
            + (len(error.value) if isinstance(error.value, str) else 0)
        )
        if self.text > _MOST_TEXT:
            self.errors.append(invalid(path, schema.type, OUT_OF_BUDGET))
            raise _OutOfBudget
        if warn:
            self.warnings.append(str(error))
        else:
            self.errors.append(error)

    def _failed(
        self,
        compiled: CompiledRule,
        activation: dict[str, Any],
        path: FieldPath,
        obj: Any,
        schema: Schema,
        correlation: Ratchet,
    ) -> None:
        def add(error: FieldError) -> None:
            self._report(
                error, path, schema, not compiled.uses_old_self and correlation.unchanged()
            )

        where = path.child(compiled.field_path) if compiled.field_path else path
        detail = None
        if compiled.message_program is not None:
            detail, fatal = self._message(compiled, activation)
            if fatal:
                add(invalid(where, schema.type, fatal))
                raise _OutOfBudget
        if detail is None:
            detail = compiled.rule.message.strip() or f"failed rule: {compiled.rule.rule.strip()}"
        add(
            _error(
                where,
                None if schema.type in ("object", "array") else obj,
                schema.type,
                detail,
                compiled.rule.reason,
            )
        )

    def _message(
        self, compiled: CompiledRule, activation: dict[str, Any]
    ) -> tuple[str | None, str]:
        """(the message, or None when the expression gives none; why nothing further may run)."""
        assert compiled.message_program is not None
        source = compiled.rule.message_expression
        out = (
            "messageExpression evaluation failed due to running out of cost budget, no further "
            "validation rules will be run"
        )
        try:
            self.effort.room = ROOM
            value, spent = compiled.message_program.run(activation, PER_CALL_LIMIT)
        except CelError as e:
            if e.spent > self.budget:
                return None, out
            if isinstance(e, BudgetExceeded):
                why = (
                    "no further validation rules will be run due to call cost exceeds limit for "
                    "messageExpression"
                )
                return None, f"{why}: {go_quote(source)}"
            self.budget -= e.spent
            return None, ""
        if spent > self.budget:
            return None, out
        self.budget -= spent
        text = value.strip() if isinstance(value, str) else ""
        usable = (
            text and len(text.encode("utf-8", "surrogatepass")) <= _MAX_MESSAGE and "\n" not in text
        )
        return (text if usable else None), ""


def _rule_text(rule: Rule) -> str:
    return rule.message.strip() or rule.rule.strip()


def _error(path: str, value: Any, type_: str, detail: str, reason: str | None) -> FieldError:
    """Objects and lists are not quoted: their detail stands where the value would."""
    if reason == "FieldValueForbidden":
        return FieldError(ErrorType.FORBIDDEN, path, None, detail)
    if reason == "FieldValueRequired":
        return FieldError(ErrorType.REQUIRED, path, None, detail)
    kind = ErrorType.DUPLICATE if reason == "FieldValueDuplicate" else ErrorType.INVALID
    if type_ in ("object", "array"):
        return FieldError(kind, path, GoSyntax("" if kind is ErrorType.DUPLICATE else detail))
    return FieldError(kind, path, value, "" if kind is ErrorType.DUPLICATE else detail)
