"""The query parameter ``shardSelector``: one share of a resource's objects, by ranges of a hash of
their uid or namespace, so that the replicas of a controller divide them without knowing each other
(feature gate ShardedListAndWatch).

Source: k8s.io/apimachinery ``pkg/sharding`` (the hash, how ranges are compared), k8s.io/apiserver
``pkg/sharding`` (what is written: CEL, of which only ``shardRange()`` and ``||`` are used; it is
read and never evaluated).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from apiserver.cel.scalars import Uint
from apiserver.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
)
from apiserver.cel.syntax.parser import MAX_DEPTH
from apiserver.cel.syntax.parser import parse as parse_cel
from apiserver.golang.strconv import go_quote

GATE = "ShardedListAndWatch"
UID_HASH = "hash of metadata.uid"
"""Among the fields of a cached object, where the gate is on: no selector can name it."""
MOST = 16 * 1024
"""Characters; some 200 ranges."""
_UID, _NAMESPACE = "object.metadata.uid", "object.metadata.namespace"
_END = "0x10000000000000000"
_DIGITS = 16
_KINDS = {Call: 1, Comprehension: 2, Ident: 3, ListExpr: 4, Literal: 5, MapExpr: 6, Select: 7}
_STRUCT = 8
"""How cel-go numbers the kinds of expressions, which its texts show."""
_GO_TYPES = {bool: "bool", int: "int64", Uint: "uint64", float: "float64", bytes: "[]uint8"}


class ShardError(ValueError):
    """What is wrong with a selector, in kube-apiserver's words."""


@dataclass(frozen=True, slots=True)
class ShardSelector:
    """key: the field that is hashed; ranges: [start, end), as written."""

    key: str
    ranges: tuple[tuple[str, str], ...]

    def matches(self, fields: Mapping[str, str]) -> bool:
        """``fields``: with UID_HASH."""
        hashed = (
            fields[UID_HASH] if self.key == _UID else _hash_of_name(fields["metadata.namespace"])
        )
        value = f"0x{hashed}"
        return any(not _less(value, start) and _less(value, end) for start, end in self.ranges)

    def __str__(self) -> str:
        return " || ".join(f"shardRange({self.key}, '{a}', '{b}')" for a, b in self.ranges)


def hash_of(value: str) -> str:
    """FNV-1a of 64 bits, as 16 hexadecimal digits."""
    number = 0xCBF29CE484222325
    for byte in value.encode():
        number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}"


_hash_of_name = lru_cache(4096)(hash_of)


def _less(a: str, b: str) -> bool:
    return (len(a), a) < (len(b), b)


@lru_cache(256)
def parse(text: str) -> ShardSelector:
    """Raises ShardError."""
    text = text.strip()
    if not text:
        raise ShardError(
            "empty shard selector is not allowed; omit the parameter for unfiltered lists"
        )
    if len(text) > MOST:
        raise ShardError(f"a shard selector may have at most {MOST} characters")
    try:
        tree, errors = parse_cel(text, {})
    except RecursionError:
        raise ShardError(
            f"CEL parse error: expression recursion limit exceeded: {MAX_DEPTH}"
        ) from None
    if tree is None:
        raise ShardError(f"CEL parse error: {errors[0].message}")
    ranges = [_range(call) for call in _calls(tree)]
    key = ranges[0][0]
    for other, _, _ in ranges:
        if other != key:
            raise ShardError(
                f"all shard ranges must use the same field, got {go_quote(key)} and "
                f"{go_quote(other)}"
            )
    return ShardSelector(key, tuple((start, end) for _, start, end in ranges))


def _calls(tree: Expr) -> Iterator[Call]:
    """The calls that || combines, from left to right."""
    todo = [tree]
    while todo:
        expr = todo.pop()
        if not isinstance(expr, Call):
            raise ShardError(
                f"unexpected expression kind {_kind(expr)}; expected shardRange() call or || "
                "operator"
            )
        if expr.function == "_||_":
            todo += reversed(expr.args)
        elif expr.function == "shardRange":
            yield expr
        else:
            raise ShardError(
                f"unsupported function {go_quote(expr.function)}; only shardRange() and || are "
                "allowed"
            )


def _range(call: Call) -> tuple[str, str, str]:
    """(field, start, end)."""
    if len(call.args) != 3:
        raise ShardError(f"shardRange() requires exactly 3 arguments, got {len(call.args)}")
    path = _path(call.args[0])
    if path not in (_UID, _NAMESPACE):
        raise ShardError(
            f"unsupported field path {go_quote(path)}; supported: {_UID}, {_NAMESPACE}"
        )
    start, end = _bound(call.args[1], "hexStart"), _bound(call.args[2], "hexEnd")
    if not _less(start, end):
        raise ShardError(f"shard range start {start} must be less than end {end}")
    return path, start, end


def _path(expr: Expr) -> str:
    fields: list[str] = []
    while isinstance(expr, Select):
        fields.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, Ident):
        raise ShardError(
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got "
            f"expression kind {_kind(expr)}"
        )
    return ".".join([expr.name, *reversed(fields)])


def _bound(expr: Expr, name: str) -> str:
    if not isinstance(expr, Literal):
        raise ShardError(
            f"{name} must be a string literal (e.g. '0xff'), got expression kind {_kind(expr)}"
        )
    text: Any = expr.value
    if not isinstance(text, str):
        raise ShardError(f"{name} must be a string literal, got {_go_type(text)}")
    digits = text.removeprefix("0x")
    if digits == text:
        raise ShardError(f"{name} must have '0x' prefix, got {go_quote(text)}")
    if not digits:
        raise ShardError(f"{name}: hex value is required after '0x'")
    size = len(digits.encode())
    if size > _DIGITS + 1:
        raise ShardError(
            f"{name}: hex value too long ({size} chars, max {_DIGITS + 1}): {go_quote(digits)}"
        )
    for digit in digits:
        if digit not in "0123456789abcdef":
            raise ShardError(f"{name}: invalid hex character {go_quote(digit)} in {go_quote(text)}")
    if size > _DIGITS and text != _END:
        raise ShardError(
            f"{name}: 17-digit hex value must be '{_END}' (2^64), got {go_quote(text)}"
        )
    if size < _DIGITS:
        meant = go_quote(f"0x{digits:0>{_DIGITS}}")
        raise ShardError(
            f"{name} must be a 0x-prefixed 16-digit hex value, got {go_quote(text)} (did you mean "
            f"{meant}?)"
        )
    return text


def _kind(expr: Expr) -> int:
    return _KINDS.get(type(expr), _STRUCT)


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value), "structpb.NullValue")
