"""Env: what an expression may refer to. Built once, extended by copying, never changed; its
identity keys the compile cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from apiserver.cel.decls import Functions
from apiserver.cel.syntax.macros import Expander, MacroKey
from apiserver.cel.types import (
    SIMPLE_NAMES,
    Type,
    list_type,
    map_type,
    param_type,
    struct_type,
    type_of_type,
)


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a struct type as expressions see it. source: the member's name in the JSON
    object."""

    type: Type
    source: str


class StructType(Protocol):
    """A struct type: its fields by the names that expressions use, and how a literal of it becomes
    a value."""

    name: str

    def field(self, name: str) -> Field | None: ...

    def make(self, fields: dict[str, Any]) -> Any: ...


@dataclass(frozen=True, eq=False)
class Env:
    """variables: declared names (dotted ones allowed) with their types; functions and macros by
    name; structs by type name; constants: names that denote a value; type_names: names of types
    beside the simple ones and the structs.

    quoted_fields: backquoted field names. validators: Kubernetes' checks of literal durations,
    timestamps, regular expressions and aggregates run after the type check. strict: as CEL's
    conformance data wants it, where the cel-go 0.26 of Kubernetes lets more pass: members of what
    has none are errors even where they are only tested or optional; maps have no keys of other
    types than the four, and none twice; a leading dot always means the root. dynamic_structs:
    struct types that are made when they are named."""

    variables: Mapping[str, Type] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    macros: Mapping[MacroKey, Expander] = field(default_factory=dict)
    structs: Mapping[str, StructType] = field(default_factory=dict)
    constants: Mapping[str, tuple[Type, Any]] = field(default_factory=dict)
    type_names: Mapping[str, Type] = field(default_factory=dict)
    container: str = ""
    quoted_fields: bool = False
    validators: bool = False
    strict: bool = False
    dynamic_structs: Callable[[str], StructType | None] | None = None

    def extend(
        self,
        variables: Mapping[str, Type] | None = None,
        structs: Mapping[str, StructType] | None = None,
    ) -> Env:
        """A copy that knows more variables and struct types."""
        return replace(
            self,
            variables={**self.variables, **(variables or {})},
            structs={**self.structs, **(structs or {})},
        )

    def struct(self, name: str) -> StructType | None:
        """The struct type of a name."""
        declared = self.structs.get(name)
        return (
            self.dynamic_structs(name)
            if declared is None and self.dynamic_structs is not None
            else declared
        )

    def type_named(self, name: str) -> Type | None:
        """The type that a name denotes."""
        named = self.type_names.get(name) or _TYPE_NAMES.get(name)
        if named is None and self.struct(name) is not None:
            named = struct_type(name)
        return named

    def lookup(self, name: str) -> tuple[Type, Type | None, Any] | None:
        """Type of what a full name refers to; the type itself when it is one; the value when it is
        a constant."""
        declared = self.variables.get(name)
        if declared is not None:
            return declared, None, None
        constant = self.constants.get(name)
        if constant is not None:
            return constant[0], None, constant
        denoted = self.type_named(name)
        return (type_of_type(denoted), denoted, None) if denoted is not None else None


_TYPE_NAMES = {
    **{
        name: t
        for name, t in SIMPLE_NAMES.items()
        if name not in ("any", "dyn", "timestamp", "duration", "null")
    },
    "list": list_type(param_type("A")),
    "map": map_type(param_type("A"), param_type("B")),
}
