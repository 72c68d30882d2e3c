"""What cel-go says when no overload takes the values at hand.

Operators of the standard library are one implementation each, guarded by a trait of the first
operand: types without the trait are named after the operator; types with it, or with methods of
their own, complain without a name. Other functions pick an overload by the types of all arguments,
and name these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from apiserver.cel.errors import EvalError, no_such_overload
from apiserver.cel.values import type_of


def _kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WITH_METHODS: Final = _kinds("duration string timestamp")
_COMPARABLE: Final = _kinds("bool bytes double duration int string timestamp uint")
_TRAITS: Final = {
    "_+_": _kinds("bytes double duration int list string timestamp uint"),
    "_-_": _kinds("double duration int timestamp uint"),
    "_*_": _kinds("double int uint"),
    "_/_": _kinds("double int uint"),
    "_%_": _kinds("int uint"),
    "-_": _kinds("bool double duration int"),
    "size": _kinds("bytes list map string"),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _kinds("list")),
    "matches": _kinds("string"),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _COMPARABLE),
}
# one overload each, called without looking at the types
_UNGUARDED: Final = _kinds("!_ @in contains endsWith startsWith")


def unfit(function: str, args: Sequence[Any]) -> EvalError:
    """The error of a call whose arguments fit no overload. function "": a call that upstream makes
    without a guard."""
    if not function or function in _UNGUARDED:
        return no_such_overload()
    traits = _TRAITS.get(function)
    if traits is None:
        return EvalError(
            f"no such overload: {function}({', '.join(type_of(a).name for a in args)})"
        )
    kind = type_of(args[0]).kind
    return (
        no_such_overload()
        if kind in traits or kind in _WITH_METHODS
        else EvalError(f"no such overload: {function}")
    )


_POINTERS: Final = {
    "kubernetes.NamedFormat": "*cel.Format",
    "list": "*types.baseList",
    "map": "*types.baseMap",
    "optional_type": "*types.Optional",
    "type": "*types.Type",
}
_NATIVE: Final = {
    "bytes": "[]uint8",
    "google.protobuf.Duration": "time.Duration",
    "google.protobuf.Timestamp": "time.Time",
    "list": "[]interface {}",
    "map": "map[string]interface {}",
    "null_type": "<nil>",
}
_GO_TYPES: Final = {
    "bool": "Bool",
    "bytes": "Bytes",
    "double": "Double",
    "google.protobuf.Duration": "Duration",
    "google.protobuf.Timestamp": "Timestamp",
    "int": "Int",
    "null_type": "Null",
    "string": "String",
    "uint": "Uint",
}


def go_type(value: Any) -> str:
    """A value's type as Go's %T prints it."""
    name = type_of(value).name
    if name in _GO_TYPES:
        return "types." + _GO_TYPES[name]
    return _POINTERS.get(name) or "cel." + name.rpartition(".")[2]


def go_native_type(value: Any) -> str:
    """The same of what Go unwraps the value to."""
    return _NATIVE.get(type_of(value).name) or go_type(value)
