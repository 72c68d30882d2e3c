"""The type checker (cel-go ``checker/checker.go``): writes types and fitting overloads into the
tree, and reports what does not fit.

Its errors read and stand as cel-go's. A tree with errors still gets types (``!error!``, which fits
everything), so that several errors of one text are found at once, and so that a tree can be
evaluated unchecked.
"""

from __future__ import annotations

from typing import Final

from apiserver.cel.check.unify import (
    Mapping,
    TooLarge,
    is_assignable,
    is_assignable_list,
    most_general,
    substitute,
)
from apiserver.cel.decls import Overload, candidate_names
from apiserver.cel.env import Env
from apiserver.cel.errors import NO_POSITION, CompileError
from apiserver.cel.library.wellknown import WellKnown
from apiserver.cel.syntax.ast import (
    Call,
    Comprehension,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from apiserver.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    STRING,
    Type,
    is_dyn_or_error,
    list_type,
    map_type,
    optional_type,
    param_type,
    struct_type,
    unwrap_optional,
)
from apiserver.cel.values import type_of
from apiserver.effort import spend

_MOST_ERRORS: Final = 1000
_NODE_STEPS: Final = 80
_TYPE_TOO_LARGE: Final = "the type of a part of the expression is too large"


def check(tree: Expr, env: Env) -> list[CompileError]:
    """Types the tree in place. Type parameters that nothing bound become dyn."""
    checker = _Checker(env)
    try:
        checker.check(tree)
        for e in checker.seen:
            if e.type is not None and e.type.has_params:
                e.type = substitute(checker.mapping, e.type, params_to_dyn=True)
    except TooLarge:
        return [*checker.errors, CompileError(NO_POSITION, _TYPE_TOO_LARGE)]
    return checker.errors


class _Checker:
    def __init__(self, env: Env) -> None:
        self.env = env
        self.errors: list[CompileError] = []
        self.mapping = Mapping()
        self.scopes: list[dict[str, Type]] = []
        self.free = 0
        self.seen: list[Expr] = []
        self.checked: dict[int, tuple[list[CompileError], int]] = {}

    # --- helpers ----------------------------------------------------------------------------------
    def error(self, pos: int, message: str) -> None:
        self.errors.append(CompileError(pos, message))

    def undeclared(self, pos: int, name: str) -> None:
        self.error(pos, f"undeclared reference to '{name}' (in container '{self.env.container}')")

    def mismatch(self, pos: int, expected: Type, actual: Type) -> None:
        self.error(pos, f"expected type '{expected}' but found '{actual}'")

    def new_type_var(self) -> Type:
        self.free += 1
        return param_type(f"_var{self.free - 1}")

    def assignable(self, target: Type, given: Type) -> bool:
        return is_assignable(self.mapping, target, given)

    def local(self, name: str) -> Type | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    # --- expressions ------------------------------------------------------------------------------
    def check(self, e: Expr) -> Type:
        """Types a node. What a macro uses twice is reported twice, as cel-go does, which checks it
        again."""
        if e.type is None:
            spend(_NODE_STEPS)
            first, free = len(self.errors), self.free
            if isinstance(e, Literal):
                e.type = type_of(e.value)
            elif isinstance(e, Ident):
                e.type = self.ident(e)
            elif isinstance(e, Select):
                e.type = self.select(e)
            elif isinstance(e, Call):
                e.type = self.call(e)
            elif isinstance(e, ListExpr):
                e.type = self.list_expr(e)
            elif isinstance(e, MapExpr):
                e.type = self.map_expr(e)
            elif isinstance(e, StructExpr):
                e.type = self.struct(e)
            elif isinstance(e, Comprehension):
                e.type = self.comprehension(e)
            else:
                raise AssertionError(e)
            self.seen.append(e)
            self.checked[id(e)] = self.errors[first:], self.free - free
        elif id(e) in self.checked and len(self.errors) < _MOST_ERRORS:
            errors, free = self.checked[id(e)]
            self.errors += errors
            self.free += free
        return e.type

    def ident(self, e: Ident) -> Type:
        # cel-go lets a comprehension's variable hide a global one of the same name even where a
        # leading dot asks for the global one
        name = e.name if self.env.strict else e.name.removeprefix(".")
        local = self.local(name)
        if local is not None:
            e.name = name
            return local
        return self.resolve(e, e.name) or self.unknown_ident(e)

    def unknown_ident(self, e: Ident) -> Type:
        self.undeclared(e.pos, e.name)
        return ERROR

    def resolve(self, e: Ident, name: str) -> Type | None:
        """Type of a global name; e becomes the name in full."""
        for candidate in candidate_names(self.env.container, name):
            declaration = self.env.lookup(candidate)
            if declaration is not None:
                type_, denoted, constant = declaration
                # the dot keeps the name apart from a comprehension's variable of the same name
                e.name = "." + candidate
                e.denoted = denoted
                e.constant = constant
                return type_
        return None

    def select(self, e: Select) -> Type:
        name = None if e.test else qualified_name(e)
        if name is not None and (name.startswith(".") or self.local(name.split(".", 1)[0]) is None):
            whole = Ident(e.pos, name)
            type_ = self.resolve(whole, name)
            if type_ is not None:
                whole.type = type_
                e.ident = whole
                return type_
        field_type = self.field(e.pos, e.operand, e.field, optional=False)
        return BOOL if e.test else substitute(self.mapping, field_type)

    def field(self, pos: int, operand: Expr, name: str, optional: bool) -> Type:
        type_, is_optional = unwrap_optional(substitute(self.mapping, self.check(operand)))
        result = ERROR
        if type_.kind == "map":
            result = type_.params[1]
        elif type_.kind == "struct":
            result = self.struct_field(pos, type_.name, name)
        elif type_.kind == "param":
            self.assignable(DYN, type_)
            result = DYN
        else:
            if not is_dyn_or_error(type_):
                self.error(pos, f"type '{type_}' does not support field selection")
            result = DYN
        return optional_type(result) if is_optional or optional else result

    def struct_field(self, pos: int, struct: str, name: str) -> Type:
        declared = self.env.struct(struct)
        if declared is None:
            self.error(pos, f"unexpected failed resolution of '{struct}'")
            return ERROR
        field = declared.field(name)
        if field is None:
            self.error(pos, f"undefined field '{name}'")
            return ERROR
        return field.type

    # --- calls ------------------------------------------------------------------------------------
    def call(self, e: Call) -> Type:
        if e.function == "_?._":
            field = e.args[1]
            assert isinstance(field, Literal)  # the parser makes no other
            field.type = STRING
            e.overloads = ("select_optional_field",)
            return substitute(
                self.mapping, self.field(e.pos, e.args[0], field.value, optional=True)
            )
        for arg in e.args:
            self.check(arg)
        if e.target is None:
            overloads = self.function(e, e.function)
            if overloads is None:
                self.undeclared(e.pos, e.function)
                return ERROR
            return self.resolve_overload(e, overloads)
        prefix = qualified_name(e.target)
        if prefix is not None:
            overloads = self.function(e, f"{prefix}.{e.function}")
            if overloads is not None:
                e.target = None
                return self.resolve_overload(e, overloads)
        self.check(e.target)
        overloads = self.function(e, e.function)
        if overloads is None:
            self.undeclared(e.pos, e.function)
            return ERROR
        return self.resolve_overload(e, overloads)

    def function(self, e: Call, name: str) -> tuple[Overload, ...] | None:
        for candidate in candidate_names(self.env.container, name):
            overloads = self.env.functions.get(candidate)
            if overloads is not None:
                e.function = candidate
                return overloads
        return None

    def resolve_overload(self, e: Call, overloads: tuple[Overload, ...]) -> Type:
        if e.function in ("_&&_", "_||_"):
            return self.logical(e)
        args = [a.type or DYN for a in ([e.target, *e.args] if e.target is not None else e.args)]
        result: Type | None = None
        fitting: list[str] = []
        for o in overloads:
            if o.member != (e.target is not None):
                continue
            params, returned = o.args, o.result
            if o.params:
                fresh = {p: self.new_type_var() for p in o.params}
                params = tuple(substitute(fresh, a) for a in params)
                returned = substitute(fresh, returned)
            if len(params) != len(args):
                continue
            if not is_assignable_list(self.mapping, args, params):
                continue
            fitting.append(o.id)
            returned = substitute(self.mapping, returned)
            if result is None:
                result = returned
            elif result.kind != "dyn" and returned != result:
                result = DYN
        if result is None:
            arg_texts = [str(substitute(self.mapping, a, params_to_dyn=True)) for a in args]
            applied = (
                f"{arg_texts[0]}.({', '.join(arg_texts[1:])})"
                if e.target is not None
                else f"({', '.join(arg_texts)})"
            )
            self.error(
                e.pos, f"found no matching overload for '{e.function}' applied to '{applied}'"
            )
            return ERROR
        e.overloads = tuple(fitting)
        return result

    def logical(self, e: Call) -> Type:
        result = BOOL
        for arg in e.args:
            if not self.assignable(arg.type or DYN, BOOL):
                self.mismatch(arg.pos, BOOL, arg.type or DYN)
                result = ERROR
        if result is BOOL:
            e.overloads = ("logical_and" if e.function == "_&&_" else "logical_or",)
        return result

    # --- aggregates -------------------------------------------------------------------------------
    def join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        return most_general(previous, current) if self.assignable(previous, current) else DYN

    def unwrap(self, e: Expr, optional: bool) -> Type:
        type_ = self.check(e)
        if not optional:
            return type_
        inner, is_optional = unwrap_optional(type_)
        if not is_optional and inner.kind != "dyn":
            self.mismatch(e.pos, optional_type(inner), inner)
        return inner

    def list_expr(self, e: ListExpr) -> Type:
        item: Type | None = None
        for i, element in enumerate(e.elements):
            item = self.join(item, self.unwrap(element, i in e.optionals))
        return list_type(item or self.new_type_var())

    def map_expr(self, e: MapExpr) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in e.entries:
            key = self.join(key, self.check(entry.key))
            value = self.join(value, self.unwrap(entry.value, entry.optional))
        return map_type(key or self.new_type_var(), value or self.new_type_var())

    def struct(self, e: StructExpr) -> Type:
        for candidate in candidate_names(self.env.container, e.name):
            denoted = self.env.type_named(candidate)
            if denoted is not None:
                e.name = candidate
                break
        else:
            self.undeclared(e.pos, e.name)
            return ERROR
        declared = self.env.struct(e.name)
        if declared is None:
            self.error(e.pos, f"'{denoted.name}' is not a message type")
        for field in e.fields:
            self.struct_entry(e.name, field)
        if declared is None:
            return ERROR
        return declared.type if isinstance(declared, WellKnown) else struct_type(denoted.name)

    def struct_entry(self, struct: str, field: Entry) -> None:
        given = self.check(field.value)
        field_type = self.struct_field(field.pos, struct, field.key)
        if field.optional:
            given = self.unwrap(field.value, optional=True)
        if not self.assignable(field_type, given):
            self.error(
                field.pos,
                f"expected type of field '{field.key}' is '{field_type}' but provided type is "
                f"'{given}'",
            )

    # --- comprehensions ---------------------------------------------------------------------------
    def comprehension(self, e: Comprehension) -> Type:
        self.check(e.range)
        accu = self.check(e.init)
        range_ = substitute(self.mapping, e.range.type or DYN)
        self.scopes.append({e.accu_var: accu})
        self.scopes.append(self.iteration(e, range_))
        self.wants(e.condition, BOOL)
        self.wants(e.step, accu)
        self.scopes.pop()
        result = self.check(e.result)
        self.scopes.pop()
        return substitute(self.mapping, result)

    def wants(self, e: Expr, type_: Type) -> None:
        given = self.check(e)
        if not self.assignable(type_, given):
            self.mismatch(e.pos, type_, given)

    def iteration(self, e: Comprehension, range_: Type) -> dict[str, Type]:
        if range_.kind == "list":
            first, second = (INT, range_.params[0]) if e.iter_var2 else (range_.params[0], DYN)
        elif range_.kind == "map":
            first, second = range_.params
        elif range_.kind in ("dyn", "error", "param"):
            self.assignable(DYN, range_)
            first = second = DYN
        else:
            message = (
                f"expression of type '{range_}' cannot be range of a comprehension (must "
                f"be list, map, or dynamic)"
            )
            self.error(e.range.pos, message)
            first = second = ERROR
        return {e.iter_var: first, e.iter_var2: second} if e.iter_var2 else {e.iter_var: first}


def qualified_name(e: Expr) -> str | None:
    """``a.b.c`` written as one name, None for anything else."""
    parts: list[str] = []
    while isinstance(e, Select) and not e.test:
        parts.append(e.field)
        e = e.operand
    if not isinstance(e, Ident):
        return None
    parts.append(e.name)
    return ".".join(reversed(parts))
