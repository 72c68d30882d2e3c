"""Compilation of the rules of one schema node, with their estimated costs (apiextensions
``schema/cel/compilation.go``)."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from apiserver.cel.check.validators import walk
from apiserver.cel.cost.estimate import Estimator, Path, SizeOf
from apiserver.cel.cost.estimate_calls import estimate_call
from apiserver.cel.cost.ranges import Range
from apiserver.cel.env import Env
from apiserver.cel.errors import EvalError
from apiserver.cel.kubernetes.decltypes import MAX_REQUEST_BYTES, DeclType, declare
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.fieldpath import FieldPathError, parse_field_path
from apiserver.cel.kubernetes.timings import COMPILED, observe
from apiserver.cel.plan.program import Program, compile_fresh, error_text, unmade
from apiserver.cel.syntax.ast import Ident, Select
from apiserver.cel.types import BOOL, STRING, optional_type
from apiserver.schema.types import Rule, Schema

SELF_TYPE = "selfType"
_RULE_STEPS = 10
NO_TYPE = "failed to convert to declType for CEL validation rules"
"""Why rules on values without a CEL type cannot be compiled."""


@dataclass(slots=True, eq=False)
class CompiledRule:
    """error: why the rule has no program; message_error likewise. max_cost: the estimate;
    field_path: normalized, "" without one. weight: steps of an evaluation that costs nothing (see
    `apiserver.effort`)."""

    rule: Rule
    program: Program | None = None
    error: str = ""
    uses_old_self: bool = False
    max_cost: int = 0
    message_program: Program | None = None
    message_error: str = ""
    message_max_cost: int = 0
    field_path: str = ""
    weight: int = _RULE_STEPS


def max_cardinality(declared: DeclType) -> int:
    """How often a value of this type can occur in one request."""
    return MAX_REQUEST_BYTES // (declared.min_size + 1)


def compile_node_rules(schema: Schema, declared: DeclType) -> list[CompiledRule]:
    """One result a rule, in order."""
    began = perf_counter()
    try:
        return _compile_all(schema, declared)
    finally:
        observe(COMPILED.of_thread(), perf_counter() - began)


def _compile_all(schema: Schema, declared: DeclType) -> list[CompiledRule]:
    type_, structs = declare(declared, SELF_TYPE)
    plain = BASE.extend({"self": type_, "oldSelf": type_}, structs)
    optional = BASE.extend({"self": type_, "oldSelf": optional_type(type_)}, structs)
    size_of = _sizes(declared)
    return [
        _compile(schema, r, optional if r.optional_old_self else plain, size_of)
        for r in schema.rules
    ]


def _sizes(root: DeclType) -> SizeOf:
    def size_of(path: Path) -> Range | None:
        if not path:
            return None
        node = root
        for name in path[1:]:
            if name in ("@items", "@values"):
                below = node.element
            elif name == "@keys":
                below = _KEY if node.kind == "map" else None
            else:
                below = node.fields.get(name)
            if below is None:
                return None
            node = below
        return Range(0, node.max_elements)

    return size_of


_KEY = DeclType("simple", STRING, 0, 2)
"""Keys of maps: Kubernetes knows no bound of their length and counts none."""


def _compile(schema: Schema, rule: Rule, env: Env, size_of: SizeOf) -> CompiledRule:
    compiled = CompiledRule(rule)
    if not rule.rule.strip():
        return compiled
    program = compile_fresh(env, rule.rule)
    if not isinstance(program, Program):
        compiled.error = "compilation failed: " + error_text(rule.rule, program)
        return compiled
    if program.type != BOOL:
        compiled.error = "cel expression must evaluate to a bool"
        return compiled
    compiled.uses_old_self = _uses_old_self(program)
    compiled.error = unmade(program)
    if compiled.error:
        return compiled
    compiled.weight += program.instantiate().weight
    compiled.max_cost = estimate(program, size_of)
    compiled.program = program
    if rule.message_expression:
        _compile_message(compiled, env, size_of)
        if compiled.message_error:
            return compiled
    if rule.field_path:
        try:
            compiled.field_path = parse_field_path(rule.field_path, schema)[0]
        except FieldPathError:
            compiled.field_path = ""
    return compiled


def _compile_message(compiled: CompiledRule, env: Env, size_of: SizeOf) -> None:
    source = compiled.rule.message_expression
    program = compile_fresh(env, source)
    if not isinstance(program, Program):
        compiled.message_error = "messageExpression compilation failed: " + error_text(
            source, program
        )
        return
    if program.type != STRING:
        compiled.message_error = "messageExpression must evaluate to a string"
        return
    try:
        program.instantiate()
    except EvalError as e:
        compiled.message_error = "messageExpression instantiation failed: " + e.message
        return
    compiled.message_program = program
    compiled.message_max_cost = estimate(program, size_of)


def estimate(program: Program, size_of: SizeOf) -> int:
    """The most that an evaluation may cost."""
    return Estimator(size_of, estimate_call).cost(program.tree).max


def _uses_old_self(program: Program) -> bool:
    for e in walk(program.tree):
        name = (
            e.ident.name
            if isinstance(e, Select) and e.ident is not None
            else e.name
            if isinstance(e, Ident)
            else ""
        )
        if name == ".oldSelf":
            return True
    return False
