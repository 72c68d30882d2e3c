"""Assignability and type parameters: which argument types fit an overload, and what its result
becomes (cel-go ``checker/types.go``)."""

from __future__ import annotations

from apiserver.cel.types import DYN, Type, is_dyn_or_error
from apiserver.effort import spend


class Mapping(dict[str, Type]):
    """What type parameters stand for. learned: what was written since the last success, to be taken
    back on failure."""

    __slots__ = ("learned",)

    def __init__(self) -> None:
        super().__init__()
        self.learned: list[tuple[str, Type | None]] = []

    def learn(self, name: str, type_: Type) -> None:
        self.learned.append((name, self.get(name)))
        self[name] = type_

    def forget(self) -> None:
        while self.learned:
            name, before = self.learned.pop()
            if before is None:
                del self[name]
            else:
                self[name] = before


class TooLarge(Exception):
    """A type is too large to go on."""


MOST_PARTS = 250
"""Of a type. One that holds itself twice, as in ``.map(x, {x: x})``, doubles with each step."""

_LEGACY_NULLABLE = frozenset({"opaque", "struct", "any", "duration", "timestamp"})
_SCALARS = frozenset(
    {"bool", "bytes", "double", "int", "string", "uint", "any", "duration", "timestamp", "struct"}
)


def is_assignable(m: Mapping, t1: Type, t2: Type) -> bool:
    """Whether a ``t2`` may stand where a ``t1`` is wanted; ``m`` then has what was learned, and is
    unchanged otherwise."""
    return is_assignable_list(m, (t1,), (t2,))


def is_assignable_list(
    m: Mapping, l1: tuple[Type, ...] | list[Type], l2: tuple[Type, ...] | list[Type]
) -> bool:
    m.learned.clear()
    if _assignable_list(m, l1, l2):
        return True
    m.forget()
    return False


def _assignable_list(
    m: Mapping, l1: tuple[Type, ...] | list[Type], l2: tuple[Type, ...] | list[Type]
) -> bool:
    return len(l1) == len(l2) and all(_assignable(m, a, b) for a, b in zip(l1, l2, strict=True))


def _assignable(m: Mapping, t1: Type, t2: Type) -> bool:
    spend(10)
    if t2.kind == "param":
        valid, has_substitution = _substitution(m, t1, t2)
        if valid or has_substitution:
            return valid
    if t1.kind == "param":
        return _substitution(m, t2, t1)[0]
    if is_dyn_or_error(t1) or is_dyn_or_error(t2):
        return True
    if t1.kind == "null":
        return _takes_null(t2)
    if t2.kind == "null":
        return _takes_null(t1)
    if t1.kind in _SCALARS:
        return t1.kind == t2.kind and t1.name == t2.name
    if t1.kind == "type":
        return t2.kind == "type"
    return t1.kind == t2.kind and t1.name == t2.name and _assignable_list(m, t1.params, t2.params)


def _takes_null(t: Type) -> bool:
    return t.kind in _LEGACY_NULLABLE or t.kind == "null" or t.nullable


def _substitution(m: Mapping, t1: Type, t2: Type) -> tuple[bool, bool]:
    """Whether the type parameter t2 may stand for t1, and whether t2 already stood for
    something."""
    if t1 == t2:
        return True, True
    bound = m.get(t2.name)
    if bound is not None:
        if t1 == bound:
            return True, True
        if _assignable(m, t1, bound):
            general = most_general(t1, bound)
            if _not_referenced(m, t2, general):
                m.learn(t2.name, general)
            return True, True
        return False, True
    if _not_referenced(m, t2, t1):
        m.learn(t2.name, t1)
        return True, False
    return False, False


def _not_referenced(m: Mapping, t: Type, within: Type) -> bool:
    spend(5)
    if t == within:
        return False
    if within.kind == "param":
        bound = m.get(within.name)
        return bound is None or _not_referenced(m, t, bound)
    return all(_not_referenced(m, t, p) for p in within.params)


def most_general(t1: Type, t2: Type) -> Type:
    return t1 if _less_specific(t1, t2) else t2


def _less_specific(t1: Type, t2: Type) -> bool:
    if t1.kind in ("dyn", "any", "param"):
        return True
    if t2.kind in ("dyn", "any", "param") or t1.kind != t2.kind:
        return False
    if t1.kind == "opaque" and (t1.name != t2.name or len(t1.params) != len(t2.params)):
        return False
    if t1.kind in ("opaque", "list", "map"):
        return all(_less_specific(a, b) for a, b in zip(t1.params, t2.params, strict=True))
    return t1.kind == "type" or t1 == t2


def substitute(m: dict[str, Type], t: Type, params_to_dyn: bool = False) -> Type:
    """``t`` with every bound type parameter replaced; unbound ones stay, or become dyn. Raises
    TooLarge."""
    if not t.has_params:
        return t
    if t.kind == "param":
        bound = m.get(t.name)
        if bound is not None:
            return substitute(m, bound, params_to_dyn)
        return DYN if params_to_dyn else t
    spend(10)
    substituted = Type(
        t.kind, t.name, tuple(substitute(m, p, params_to_dyn) for p in t.params), t.nullable
    )
    if substituted.parts > MOST_PARTS:
        raise TooLarge
    return substituted
