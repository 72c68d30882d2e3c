"""Label selectors: the string form of list and watch requests, and the LabelSelector objects inside
specs.

Source: k8s.io/apimachinery, package ``labels``, and ``LabelSelectorAsSelector`` of meta/v1. Error
texts are upstream's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from apiserver.golang.math import is_int64
from apiserver.golang.strconv import go_quote, whole
from apiserver.meta.labeltokens import END, WORDS, Token, tokens
from apiserver.meta.names import label_key, label_value

IN, NOT_IN, EQUALS, DOUBLE_EQUALS, NOT_EQUALS = "in", "notin", "=", "==", "!="
EXISTS, DOES_NOT_EXIST, GREATER, LESS = "exists", "!", "gt", "lt"

_BINARY = (IN, NOT_IN, EQUALS, DOUBLE_EQUALS, NOT_EQUALS, GREATER, LESS)
_OBJECT_OPERATORS = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": DOES_NOT_EXIST}
_PRINTED = {GREATER: ">", LESS: "<"}
_INTEGER = re.compile(r"[+-]?[0-9]+")


class LabelSelectorError(ValueError):
    """The text is kube-apiserver's."""


class Requirement(NamedTuple):
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.operator in (EQUALS, DOUBLE_EQUALS, IN):
            return value is not None and value in self.values
        if self.operator in (NOT_EQUALS, NOT_IN):
            return value is None or value not in self.values
        if self.operator == EXISTS:
            return value is not None
        if self.operator == DOES_NOT_EXIST:
            return value is None
        if (
            value is None
            or not _is_int64(value)
            or len(self.values) != 1
            or not _is_int64(self.values[0])
        ):
            return False
        return (
            whole(value) > whole(self.values[0])
            if self.operator == GREATER
            else whole(value) < whole(self.values[0])
        )

    def __str__(self) -> str:
        if self.operator in (EXISTS, DOES_NOT_EXIST):
            return f"!{self.key}" if self.operator == DOES_NOT_EXIST else self.key
        values = ",".join(sorted(self.values))
        if self.operator in (IN, NOT_IN):
            return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{_PRINTED.get(self.operator, self.operator)}{values}"


class LabelSelector(NamedTuple):
    """All requirements must hold. ``nothing``: selects no object at all (a missing LabelSelector
    object)."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        return all(r.matches(labels or {}) for r in self.requirements)

    def matcher(self) -> Callable[[Mapping[str, str]], bool]:
        """`matches` for many objects: it takes time by the labels of an object, however many
        requirements there are."""
        if (
            self.nothing
            or len(self.requirements) + sum(len(r.values) for r in self.requirements) <= _FEW
        ):
            return self.matches
        demands: dict[str, _Demand] = {}
        for r in self.requirements:
            demands.setdefault(r.key, _Demand()).add(r)
        present = [key for key, demand in demands.items() if demand.present]

        def matches(labels: Mapping[str, str]) -> bool:
            if len(present) > len(labels) or not all(key in labels for key in present):
                return False
            return all(
                demand.allows(value)
                for key, value in labels.items()
                if (demand := demands.get(key)) is not None
            )

        return matches

    def exact(self, key: str) -> str | None:
        """The value that the selector demands of a label, if it demands a single one."""
        for r in self.requirements:
            if r.key == key:
                return (
                    r.values[0]
                    if r.operator in (EQUALS, DOUBLE_EQUALS, IN) and len(r.values) == 1
                    else None
                )
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_FEW = 16
"""Requirements and values that are looked at one by one."""


class _Demand:
    """All that a selector says of one label. present: whether it must be there; allows(): of the
    value that is there."""

    def __init__(self) -> None:
        self.present = False
        self.absent = False
        self.allowed: frozenset[str] | None = None
        self.refused: set[str] = set()
        self.compared: dict[str, Requirement] = {}

    def add(self, requirement: Requirement) -> None:
        operator, values = requirement.operator, requirement.values
        if operator in (NOT_EQUALS, NOT_IN):
            self.refused.update(values)
        elif operator == DOES_NOT_EXIST:
            self.absent = True
        else:
            self.present = True
            if operator in (EQUALS, DOUBLE_EQUALS, IN):
                self.allowed = (
                    frozenset(values) if self.allowed is None else self.allowed.intersection(values)
                )
            elif operator != EXISTS:
                self.compared[operator] = _stricter(self.compared.get(operator), requirement)

    def allows(self, value: str) -> bool:
        if (
            self.absent
            or value in self.refused
            or (self.allowed is not None and value not in self.allowed)
        ):
            return False
        return all(r.matches({r.key: value}) for r in self.compared.values())


def _stricter(one: Requirement | None, other: Requirement) -> Requirement:
    """Of two comparisons by one operator. What cannot be compared with matches nothing, which is
    the strictest."""
    if one is None or not (len(other.values) == 1 and _is_int64(other.values[0])):
        return other
    if not (len(one.values) == 1 and _is_int64(one.values[0])):
        return one
    choose = max if one.operator == GREATER else min
    return choose(one, other, key=lambda r: whole(r.values[0]))


EVERYTHING = LabelSelector()
NOTHING = LabelSelector(nothing=True)


def selector_from_object(obj: Mapping[str, Any] | None) -> LabelSelector:
    """From a LabelSelector object; None selects nothing, an empty one everything. Raises
    LabelSelectorError."""
    if obj is None:
        return NOTHING
    requirements = [_requirement(k, EQUALS, [v]) for k, v in (obj.get("matchLabels") or {}).items()]
    for expression in obj.get("matchExpressions") or []:
        operator = _OBJECT_OPERATORS.get(expression.get("operator") or "")
        if operator is None:
            raise LabelSelectorError(
                f"{go_quote(expression.get('operator') or '')} is not a valid label selector "
                f"operator"
            )
        requirements.append(
            _requirement(expression.get("key") or "", operator, expression.get("values") or [])
        )
    return LabelSelector(tuple(sorted(requirements, key=lambda r: r.key)))


def parse_label_selector(text: str) -> LabelSelector:
    """``a=b,c in (d,e),!f,g>3``. Raises LabelSelectorError."""
    if not text:
        return EVERYTHING
    return LabelSelector(tuple(sorted(_Parser(text).parse(), key=lambda r: r.key)))


def _is_int64(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and is_int64(whole(text))


def _invalid(path: str, value: str, detail: str) -> str:
    return f"{path}: Invalid value: {value}: {detail}"


def _requirement(key: str, operator: str, values: Iterable[str]) -> Requirement:
    """A checked requirement; several faults make one message in brackets."""
    values = list(values)
    faults = []
    if complaints := label_key(key):
        faults.append(_invalid("key", go_quote(key), "; ".join(complaints)))
    if fault := _count_fault(operator, values):
        listed = "null" if not values else "[" + ",".join(map(go_quote, values)) + "]"
        faults.append(_invalid("values", listed, fault))
    for i, value in enumerate(values):
        if operator in (GREATER, LESS) and not _is_int64(value):
            faults.append(
                _invalid(
                    f"values[{i}]",
                    go_quote(value),
                    "for 'Gt', 'Lt' operators, the value must be an integer",
                )
            )
    for i, value in enumerate(values):
        if complaints := label_value(value):
            faults.append(_invalid(f"values[{i}][{key}]", go_quote(value), "; ".join(complaints)))
    if faults:
        raise LabelSelectorError(
            faults[0] if len(faults) == 1 else f"[{', '.join(dict.fromkeys(faults))}]"
        )
    return Requirement(key, operator, tuple(values))


def _count_fault(operator: str, values: list[str]) -> str:
    if operator in (IN, NOT_IN) and not values:
        return "for 'in', 'notin' operators, values set can't be empty"
    if operator in (EQUALS, DOUBLE_EQUALS, NOT_EQUALS) and len(values) != 1:
        return "exact-match compatibility requires one single value"
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        return "values set must be empty for exists and does not exist"
    if operator in (GREATER, LESS) and len(values) != 1:
        return "for 'Gt', 'Lt' operators, exactly one value is required"
    return ""


_OPERATORS = {
    "=": EQUALS,
    "==": DOUBLE_EQUALS,
    "!=": NOT_EQUALS,
    ">": GREATER,
    "<": LESS,
    "in": IN,
    "notin": NOT_IN,
}


class _Parser:
    """A recursive descent over the tokens; "in" and "notin" are identifiers wherever a key or a
    value is expected."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.position = 0

    def peek(self) -> Token:
        token = self.tokens[self.position]
        return token._replace(kind="id") if token.kind in WORDS else token

    def take(self) -> Token:
        token = self.peek()
        self.position += 1
        return token

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            token = self.peek()
            if token.kind == END:
                return requirements
            if token.kind not in ("id", "!"):
                raise LabelSelectorError(
                    f"found '{token.text}', expected: !, identifier, or 'end of string'"
                )
            try:
                requirements.append(self.requirement())
            except LabelSelectorError as e:
                raise LabelSelectorError(f"unable to parse requirement: {e}") from None
            token = self.take()
            if token.kind == END:
                return requirements
            if token.kind != ",":
                raise LabelSelectorError(f"found '{token.text}', expected: ',' or 'end of string'")
            if self.peek().kind not in ("id", "!"):
                raise LabelSelectorError(
                    f"found '{self.peek().text}', expected: identifier after ','"
                )

    def requirement(self) -> Requirement:
        token = self.take()
        negated = token.kind == "!"
        if negated:
            token = self.take()
        if token.kind != "id":
            raise LabelSelectorError(f"found '{token.text}', expected: identifier")
        key = token.text
        if complaints := label_key(key):
            raise LabelSelectorError(_invalid("<nil>", go_quote(key), "; ".join(complaints)))
        if negated or self.peek().kind in (END, ","):
            return _requirement(key, DOES_NOT_EXIST if negated else EXISTS, [])
        token = self.tokens[self.position]
        self.position += 1
        operator = _OPERATORS.get(token.kind)
        if operator is None:
            raise LabelSelectorError(f"found '{token.text}', expected: {', '.join(_BINARY)}")
        values = self.listed() if operator in (IN, NOT_IN) else self.single()
        return _requirement(key, operator, sorted(values))

    def single(self) -> set[str]:
        if self.peek().kind in (END, ","):
            return {""}
        token = self.take()
        if token.kind != "id":
            raise LabelSelectorError(f"found '{token.text}', expected: identifier")
        return {token.text}

    def listed(self) -> set[str]:
        """``(a,b)``; an empty place between commas or parentheses is an empty value."""
        token = self.take()
        if token.kind != "(":
            raise LabelSelectorError(f"found '{token.text}' expected: '('")
        token = self.peek()
        if token.kind == ")":
            self.take()
            return {""}
        if token.kind not in ("id", ","):
            raise LabelSelectorError(f"found '{token.text}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            token = self.take()
            following = self.peek()
            if token.kind == "id":
                values.add(token.text)
                if following.kind not in (",", ")"):
                    raise LabelSelectorError(f"found '{following.text}', expected: ',' or ')'")
            elif token.kind == ",":
                if not values or following.kind in (")", ","):
                    values.add("")
            else:
                raise LabelSelectorError(f"found '{token.text}', expected: ',', or identifier")
            if following.kind == ")":
                self.take()
                return values
