"""Compilation of the rules of one schema node, with their estimated costs (apiextensions ``schema/cel/compilation.go``)."""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.cel.ast import Ident, Select
from apiserver.cel.decltypes import MAX_REQUEST_BYTES, DeclType, declare
from apiserver.cel.env import Env
from apiserver.cel.environments import BASE
from apiserver.cel.errors import EvalError
from apiserver.cel.estimate import Estimator, Path, Range, SizeOf
from apiserver.cel.estimate_calls import estimate_call
from apiserver.cel.fieldpath import FieldPathError, parse_field_path
from apiserver.cel.program import Program, compile_fresh, error_text
from apiserver.cel.types import BOOL, STRING, optional_type
from apiserver.cel.validators import walk
from apiserver.schema.types import Rule, Schema

SELF_TYPE = "selfType"


@dataclass(slots=True, eq=False)
class CompiledRule:
    """error: why the rule has no program; message_error likewise. max_cost: the estimate; field_path: normalized, "" without one."""

    rule: Rule
    program: Program | None = None
    error: str = ""
    uses_old_self: bool = False
    max_cost: int = 0
    message_program: Program | None = None
    message_error: str = ""
    message_max_cost: int = 0
    field_path: str = ""


def max_cardinality(declared: DeclType) -> int:
    """How often a value of this type can occur in one request."""
    return MAX_REQUEST_BYTES // (declared.min_size + 1)


def compile_node_rules(schema: Schema, declared: DeclType | None) -> list[CompiledRule]:
    """One result a rule, in order. Without a CEL type every rule is in error."""
    if declared is None:
        return [CompiledRule(r, error="failed to convert to declType for CEL validation rules") for r in schema.rules]
    type_, structs = declare(declared, SELF_TYPE)
    plain = BASE.extend({"self": type_, "oldSelf": type_}, structs)
    optional = BASE.extend({"self": type_, "oldSelf": optional_type(type_)}, structs)
    size_of = _sizes(declared)
    return [_compile(schema, r, optional if r.optional_old_self else plain, size_of) for r in schema.rules]


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
    made = CompiledRule(rule)
    if not rule.rule.strip():
        return made
    program = compile_fresh(env, rule.rule)
    if not isinstance(program, Program):
        made.error = "compilation failed: " + error_text(rule.rule, program)
        return made
    if program.type != BOOL:
        made.error = "cel expression must evaluate to a bool"
        return made
    made.uses_old_self = _uses_old_self(program)
    try:
        program.instantiate()
    except EvalError as e:
        made.error = "program instantiation failed: " + e.message
        return made
    made.max_cost = estimate(program, size_of)
    made.program = program
    if rule.message_expression:
        _compile_message(made, env, size_of)
        if made.message_error:
            return made
    if rule.field_path:
        try:
            made.field_path = parse_field_path(rule.field_path, schema)[0]
        except FieldPathError:
            made.field_path = ""
    return made


def _compile_message(made: CompiledRule, env: Env, size_of: SizeOf) -> None:
    source = made.rule.message_expression
    program = compile_fresh(env, source)
    if not isinstance(program, Program):
        made.message_error = "messageExpression compilation failed: " + error_text(source, program)
        return
    if program.type != STRING:
        made.message_error = "messageExpression must evaluate to a string"
        return
    try:
        program.instantiate()
    except EvalError as e:
        made.message_error = "messageExpression instantiation failed: " + e.message
        return
    made.message_program = program
    made.message_max_cost = estimate(program, size_of)


def estimate(program: Program, size_of: SizeOf) -> int:
    """The most that an evaluation may cost."""
    return Estimator(size_of, estimate_call).cost(program.tree).max


def _uses_old_self(program: Program) -> bool:
    for e in walk(program.tree):
        name = e.ident.name if isinstance(e, Select) and e.ident is not None else e.name if isinstance(e, Ident) else ""
        if name == ".oldSelf":
            return True
    return False
