"""Declarations: what functions there are and what they take, written as signatures, each with its
implementation.

``overload("add_int64", "_+_(int, int) -> int", add)``; members are written ``string.size() ->
int``. One capital letter is a type parameter; other names are CEL's simple types or come from the
``types`` handed in. Overload ids are cel-go's, because costs hang on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from apiserver.cel.types import (
    SIMPLE_NAMES,
    Type,
    list_type,
    map_type,
    optional_type,
    param_type,
    type_of_type,
)

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """args: types of the arguments, target first when member. impl takes the same, as values."""

    id: str
    function: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    params: tuple[str, ...]
    impl: Implementation | None


Functions = Mapping[str, tuple[Overload, ...]]

_TOKEN = re.compile(r"[A-Za-z_@.0-9]+|[(),]")


class _Types:
    """Reads types of a signature."""

    def __init__(self, text: str, named: Mapping[str, Type]) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0
        self.named = named

    def one(self) -> Type:
        name = self.tokens[self.at]
        self.at += 1
        params: list[Type] = []
        if self.at < len(self.tokens) and self.tokens[self.at] == "(":
            self.at += 1
            params = self.many()
        if name in self.named:
            return self.named[name]
        if name == "list":
            return list_type(params[0])
        if name == "map":
            return map_type(params[0], params[1])
        if name == "optional":
            return optional_type(params[0])
        if name == "type" and params:
            return type_of_type(params[0])
        return SIMPLE_NAMES[name] if len(name) > 1 else param_type(name)

    def many(self) -> list[Type]:
        """Types up to the closing parenthesis."""
        types: list[Type] = []
        while self.tokens[self.at] != ")":
            if self.tokens[self.at] == ",":
                self.at += 1
            types.append(self.one())
        self.at += 1
        return types


def overload(
    id_: str,
    signature: str,
    impl: Implementation | None = None,
    types: Mapping[str, Type] | None = None,
) -> Overload:
    """See the module's docstring. impl None: the interpreter knows the function itself."""
    named = types or {}
    head, result_text = signature.rsplit(" -> ", 1)
    open_at = _last_group(head)
    name, target = head[:open_at], ""
    if not name.startswith(("_", "@", "!", "-")) and "." in name:
        target, name = _split_target(name)
    args = _Types(head[open_at + 1 :], named).many()
    if target:
        args.insert(0, _Types(target, named).one())
    result = _Types(result_text, named).one()
    params = tuple(dict.fromkeys(_params((*args, result))))
    return Overload(id_, name, bool(target), tuple(args), result, params, impl)


def _last_group(head: str) -> int:
    depth = 0
    for i in range(len(head) - 1, -1, -1):
        depth += (head[i] == ")") - (head[i] == "(")
        if depth == 0:
            return i
    raise ValueError(head)


def _split_target(name: str) -> tuple[str, str]:
    """``string.size`` is a member of string; ``::ip.isCanonical`` and ``optional.of`` are names in
    a namespace."""
    target, _, function = name.rpartition(".")
    if target in _NAMESPACES:
        return "", name
    return target, function


_NAMESPACES = frozenset(
    {
        "optional",
        "sets",
        "math",
        "strings",
        "ip",
        "format",
        "jsonpatch",
        "cel",
        "lists",
        "base64",
        "regex",
    }
)


def _params(types: Iterable[Type]) -> Iterable[str]:
    for t in types:
        if t.kind == "param":
            yield t.name
        yield from _params(t.params)


def functions(*overloads: Overload) -> dict[str, tuple[Overload, ...]]:
    """Overloads by function name, in order."""
    declared: dict[str, tuple[Overload, ...]] = {}
    for o in overloads:
        declared[o.function] = (*declared.get(o.function, ()), o)
    return declared


def merge(*tables: Functions) -> dict[str, tuple[Overload, ...]]:
    """Later tables add overloads to the functions of earlier ones."""
    merged: dict[str, tuple[Overload, ...]] = {}
    for table in tables:
        for name, overloads in table.items():
            earlier = merged.get(name, ())
            ids = {o.id for o in earlier}
            merged[name] = (*earlier, *(o for o in overloads if o.id not in ids))
    return merged


@lru_cache(maxsize=4096)
def candidate_names(container: str, name: str) -> tuple[str, ...]:
    """What a name may mean in a container, most specific first: ``a.b.x``, ``a.x``, ``x``; a
    leading dot means the root."""
    if name.startswith("."):
        return (name[1:],)
    parts = container.split(".") if container else []
    return tuple(".".join([*parts[:i], name]) for i in range(len(parts), -1, -1))
