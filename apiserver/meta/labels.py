"""Label selectors: the string form of list and watch requests, and the LabelSelector objects inside specs.

Source: k8s.io/apimachinery, package ``labels``, and ``LabelSelectorAsSelector`` of meta/v1. Error texts are upstream's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from apiserver.meta.gotext import go_quote
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
        found = labels.get(self.key)
        if self.operator in (EQUALS, DOUBLE_EQUALS, IN):
            return found is not None and found in self.values
        if self.operator in (NOT_EQUALS, NOT_IN):
            return found is None or found not in self.values
        if self.operator == EXISTS:
            return found is not None
        if self.operator == DOES_NOT_EXIST:
            return found is None
        if found is None or not _is_int64(found) or len(self.values) != 1 or not _is_int64(self.values[0]):
            return False
        return int(found) > int(self.values[0]) if self.operator == GREATER else int(found) < int(self.values[0])

    def __str__(self) -> str:
        if self.operator in (EXISTS, DOES_NOT_EXIST):
            return f"!{self.key}" if self.operator == DOES_NOT_EXIST else self.key
        values = ",".join(sorted(self.values))
        if self.operator in (IN, NOT_IN):
            return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{_PRINTED.get(self.operator, self.operator)}{values}"


class LabelSelector(NamedTuple):
    """All requirements must hold. ``nothing``: selects no object at all (a missing LabelSelector object)."""

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

    def exact(self, key: str) -> str | None:
        """The value that the selector demands of a label, if it demands a single one."""
        for r in self.requirements:
            if r.key == key:
                return r.values[0] if r.operator in (EQUALS, DOUBLE_EQUALS, IN) and len(r.values) == 1 else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = LabelSelector()
NOTHING = LabelSelector(nothing=True)


def selector_from_map(labels: Mapping[str, str]) -> LabelSelector:
    """The plain map selectors of Services and ReplicationControllers; not validated."""
    return LabelSelector(tuple(Requirement(k, EQUALS, (v,)) for k, v in sorted(labels.items())))


def selector_from_object(obj: Mapping[str, Any] | None) -> LabelSelector:
    """From a LabelSelector object; None selects nothing, an empty one everything. Raises LabelSelectorError."""
    if obj is None:
        return NOTHING
    requirements = [_requirement(k, EQUALS, [v], None) for k, v in (obj.get("matchLabels") or {}).items()]
    for expression in obj.get("matchExpressions") or []:
        operator = _OBJECT_OPERATORS.get(expression.get("operator") or "")
        if operator is None:
            raise LabelSelectorError(f"{go_quote(expression.get('operator') or '')} is not a valid label selector operator")
        requirements.append(_requirement(expression.get("key") or "", operator, expression.get("values") or [], None))
    return LabelSelector(tuple(sorted(requirements, key=lambda r: r.key)))


def parse_label_selector(text: str, path: str | None = None) -> LabelSelector:
    """``a=b,c in (d,e),!f,g>3``. ``path``: the field that the selector stands in, for the message. Raises LabelSelectorError."""
    if not text:
        return EVERYTHING
    return LabelSelector(tuple(sorted(_Parser(text, path).parse(), key=lambda r: r.key)))


def _is_int64(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def _invalid(path: str | None, value: str, detail: str) -> str:
    return f"{path or '<nil>'}: Invalid value: {value}: {detail}"


def _requirement(key: str, operator: str, values: Iterable[str], path: str | None) -> Requirement:
    """A checked requirement; several faults make one message in brackets."""
    values = list(values)
    prefix = f"{path}." if path else ""
    faults = []
    if complaints := label_key(key):
        faults.append(_invalid(f"{prefix}key", go_quote(key), "; ".join(complaints)))
    if fault := _count_fault(operator, values):
        listed = "null" if not values else "[" + ",".join(map(go_quote, values)) + "]"
        faults.append(_invalid(f"{prefix}values", listed, fault))
    for i, value in enumerate(values):
        if operator in (GREATER, LESS) and not _is_int64(value):
            faults.append(_invalid(f"{prefix}values[{i}]", go_quote(value), "for 'Gt', 'Lt' operators, the value must be an integer"))
    for i, value in enumerate(values):
        if complaints := label_value(value):
            faults.append(_invalid(f"{prefix}values[{i}][{key}]", go_quote(value), "; ".join(complaints)))
    if faults:
        raise LabelSelectorError(faults[0] if len(faults) == 1 else f"[{', '.join(dict.fromkeys(faults))}]")
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


_END = ""
_SPECIAL = "=!(),><"
_SYMBOLS = {")", ",", "!", "==", "=", ">", "<", "!=", "("}
_WORDS = {IN, NOT_IN}
_OPERATORS = {"=": EQUALS, "==": DOUBLE_EQUALS, "!=": NOT_EQUALS, ">": GREATER, "<": LESS, "in": IN, "notin": NOT_IN}


class _Token(NamedTuple):
    """kind: the symbol itself, "in" or "notin", "id" for an identifier, "error", or "" at the end."""

    kind: str
    text: str


def _symbol(run: str) -> tuple[_Token, int]:
    """The token at the start of a run of special characters, and its length."""
    best = ""
    for end in range(1, len(run) + 1):
        if run[:end] in _SYMBOLS:
            best = run[:end]
        elif best:
            break
    if not best:
        return _Token("error", f"error expected: keyword found '{run}'"), len(run)
    return _Token(best, best), len(best)


def _tokens(text: str) -> list[_Token]:
    text = text.partition("\0")[0]
    out, pos = [], 0
    while pos < len(text):
        c = text[pos]
        if c in " \t\r\n":
            pos += 1
            continue
        end = pos
        while end < len(text) and text[end] not in " \t\r\n" and (text[end] in _SPECIAL) == (c in _SPECIAL):
            end += 1
        run = text[pos:end]
        if c in _SPECIAL:
            token, length = _symbol(run)
            pos += length
        else:
            token, pos = _Token(run if run in _WORDS else "id", run), end
        out.append(token)
    return [*out, _Token(_END, "")]


class _Parser:
    """A recursive descent over the tokens; "in" and "notin" are identifiers wherever a key or a value is expected."""

    def __init__(self, text: str, path: str | None) -> None:
        self.tokens = _tokens(text)
        self.path = path
        self.position = 0

    def peek(self) -> _Token:
        token = self.tokens[self.position]
        return token._replace(kind="id") if token.kind in _WORDS else token

    def take(self) -> _Token:
        token = self.peek()
        self.position += 1
        return token

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            token = self.peek()
            if token.kind == _END:
                return requirements
            if token.kind not in ("id", "!"):
                raise LabelSelectorError(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self.requirement())
            except LabelSelectorError as e:
                raise LabelSelectorError(f"unable to parse requirement: {e}") from None
            token = self.take()
            if token.kind == _END:
                return requirements
            if token.kind != ",":
                raise LabelSelectorError(f"found '{token.text}', expected: ',' or 'end of string'")
            if self.peek().kind not in ("id", "!"):
                raise LabelSelectorError(f"found '{self.peek().text}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        token = self.take()
        negated = token.kind == "!"
        if negated:
            token = self.take()
        if token.kind != "id":
            raise LabelSelectorError(f"found '{token.text}', expected: identifier")
        key = token.text
        if complaints := label_key(key):
            raise LabelSelectorError(_invalid(self.path, go_quote(key), "; ".join(complaints)))
        if negated or self.peek().kind in (_END, ","):
            return _requirement(key, DOES_NOT_EXIST if negated else EXISTS, [], self.path)
        token = self.tokens[self.position]
        self.position += 1
        operator = _OPERATORS.get(token.kind)
        if operator is None:
            raise LabelSelectorError(f"found '{token.text}', expected: {', '.join(_BINARY)}")
        values = self.listed() if operator in (IN, NOT_IN) else self.single()
        return _requirement(key, operator, sorted(values), self.path)

    def single(self) -> set[str]:
        if self.peek().kind in (_END, ","):
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
