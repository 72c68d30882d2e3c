"""Quantities and semantic versions (k8s.io/apiserver ``pkg/cel/library/quantity.go``,
``semverlib.go``; blang/semver)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import total_ordering
from typing import Any, Final

from apiserver.cel.decls import functions, overload
from apiserver.cel.errors import EvalError
from apiserver.cel.types import struct_type
from apiserver.effort import hold, spend
from apiserver.golang.strconv import NumError, go_quote, parse_uint
from apiserver.meta.quantity import Quantity as Amount
from apiserver.meta.quantity import QuantityError, parse_quantity

_DIGITS_STEPS: Final = 300
QUANTITY_TYPE: Final = struct_type("kubernetes.Quantity")
SEMVER_TYPE: Final = struct_type("kubernetes.Semver")


class Quantity:
    __slots__ = ("amount",)
    cel_type: Final = QUANTITY_TYPE
    cel_unit_equality: Final = True

    def __init__(self, amount: Amount) -> None:
        self.amount = amount

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __hash__(self) -> int:
        return hash(self.amount)


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(parse_quantity(text))
    except QuantityError as e:
        raise EvalError(str(e)) from None


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


def _as_integer(q: Quantity) -> int:
    value = q.amount.as_int64()
    if value is None:
        raise EvalError("cannot convert value to integer")
    return value


def _as_float(q: Quantity) -> float:
    """Go keeps large amounts in units of nano; the multiplication back shows in the last digit."""
    amount = q.amount
    if not amount.big or amount.exponent < -9:
        return amount.as_float()
    try:
        return float(amount.unscaled * 10 ** (amount.exponent + 9)) * 1e-9
    except OverflowError:
        return amount.as_float()


def _of_int(value: int) -> Amount:
    return Amount(value)


def _compare(a: Quantity, b: Quantity) -> int:
    _pay(a, b)
    return a.amount.compare(b.amount)


def _add(a: Quantity, b: Quantity) -> Quantity:
    _pay(a, b)
    return Quantity(a.amount + b.amount)


def _sub(a: Quantity, b: Quantity) -> Quantity:
    _pay(a, b)
    return Quantity(a.amount - b.amount)


def _pay(*quantities: Quantity) -> None:
    """Numbers of thousands of digits, which ``1e999999`` comes to, are slow."""
    if any(q.amount.big or q.amount.exponent for q in quantities):
        spend(_DIGITS_STEPS)


_Q = {"Quantity": QUANTITY_TYPE}
QUANTITIES = functions(
    overload("string_to_quantity", "quantity(string) -> Quantity", _quantity, _Q),
    overload("is_quantity_string", "isQuantity(string) -> bool", _is_quantity),
    overload("quantity_sign", "sign(Quantity) -> int", lambda q: q.amount.sign, _Q),
    overload(
        "quantity_is_greater_than",
        "Quantity.isGreaterThan(Quantity) -> bool",
        lambda a, b: _compare(a, b) > 0,
        _Q,
    ),
    overload(
        "quantity_is_less_than",
        "Quantity.isLessThan(Quantity) -> bool",
        lambda a, b: _compare(a, b) < 0,
        _Q,
    ),
    overload("quantity_compare_to", "Quantity.compareTo(Quantity) -> int", _compare, _Q),
    overload("quantity_get_float", "Quantity.asApproximateFloat() -> double", _as_float, _Q),
    overload("quantity_get_int", "Quantity.asInteger() -> int", _as_integer, _Q),
    overload(
        "quantity_is_integer",
        "Quantity.isInteger() -> bool",
        lambda q: q.amount.as_int64() is not None,
        _Q,
    ),
    overload("quantity_add", "Quantity.add(Quantity) -> Quantity", _add, _Q),
    overload(
        "quantity_add_int",
        "Quantity.add(int) -> Quantity",
        lambda a, b: _add(a, Quantity(_of_int(b))),
        _Q,
    ),
    overload("quantity_sub", "Quantity.sub(Quantity) -> Quantity", _sub, _Q),
    overload(
        "quantity_sub_int",
        "Quantity.sub(int) -> Quantity",
        lambda a, b: _sub(a, Quantity(_of_int(b))),
        _Q,
    ),
)


# --- semantic versions ----------------------------------------------------------------------------
@total_ordering
class Semver:
    """numbers: major, minor, patch; prerelease: identifiers, numeric ones as int. Build metadata
    does not count."""

    __slots__ = ("key", "numbers")
    cel_type: Final = SEMVER_TYPE
    cel_unit_equality: Final = True

    def __init__(self, numbers: tuple[int, int, int], prerelease: tuple[int | str, ...]) -> None:
        self.numbers = numbers
        parts = tuple((0, p, "") if isinstance(p, int) else (1, 0, p) for p in prerelease)
        self.key: Any = (numbers, not prerelease, parts)

    def __eq__(self, other: object) -> bool:
        spend(len(self.key[2]))
        return isinstance(other, Semver) and self.key == other.key

    def __lt__(self, other: Semver) -> bool:
        spend(len(self.key[2]))
        return bool(self.key < other.key)

    def __hash__(self) -> int:
        return hash(self.key)


class _SemverError(ValueError):
    pass


_ALPHANUMERIC = re.compile(r"[A-Za-z0-9-]*")


def parse_semver(text: str) -> Semver:
    """Raises ValueError in blang/semver's words."""
    spend(5 * len(text))
    hold(100 * text.count("."))
    if not text:
        raise _SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise _SemverError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    patch, plus, build = parts[2].partition("+")
    patch, dash, prerelease = patch.partition("-")
    numbers = (major, minor, _number(patch, "patch"))
    identifiers = tuple(_identifier(p) for p in prerelease.split(".")) if dash else ()
    for part in build.split(".") if plus else []:
        if not part:
            raise _SemverError("Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(part):
            raise _SemverError(f"Invalid character(s) found in build meta data {go_quote(part)}")
    return Semver(numbers, identifiers)


def _number(text: str, name: str) -> int:
    if text and not (text.isascii() and text.isdigit()):
        raise _SemverError(f"Invalid character(s) found in {name} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise _SemverError(
            f"{name.capitalize()} number must not contain leading zeroes {go_quote(text)}"
        )
    return _uint64(text)


def _uint64(text: str) -> int:
    try:
        return parse_uint(text)
    except NumError as e:
        raise _SemverError(str(e)) from None


def _identifier(text: str) -> int | str:
    if not text:
        raise _SemverError("Prerelease is empty")
    if text.isascii() and text.isdigit():
        if len(text) > 1 and text[0] == "0":
            raise _SemverError(
                f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}"
            )
        return _uint64(text)
    if not _ALPHANUMERIC.fullmatch(text):
        raise _SemverError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return text


def _normalized(text: str) -> Semver:
    """Takes a leading v, leading zeroes and missing minor and patch."""
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[i] = stripped if stripped and stripped[0] in "0123456789" else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise _SemverError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse_semver(".".join(parts))


def _parser(text: str, normalize: bool) -> Semver:
    return _normalized(text) if normalize else parse_semver(text)


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return _parser(text, normalize)
    except _SemverError as e:
        raise EvalError(str(e)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _parser(text, normalize)
    except _SemverError:
        return False
    return True


def _part(index: int) -> Callable[[Semver], int]:
    return lambda v: v.numbers[index]


_S = {"Semver": SEMVER_TYPE}
SEMVERS = functions(
    overload("string_to_semver", "semver(string) -> Semver", _semver, _S),
    overload("string_bool_to_semver", "semver(string, bool) -> Semver", _semver, _S),
    overload("is_semver_string", "isSemver(string) -> bool", _is_semver),
    overload("is_semver_string_bool", "isSemver(string, bool) -> bool", _is_semver),
    overload(
        "semver_is_greater_than", "Semver.isGreaterThan(Semver) -> bool", lambda a, b: a > b, _S
    ),
    overload("semver_is_less_than", "Semver.isLessThan(Semver) -> bool", lambda a, b: a < b, _S),
    overload(
        "semver_compare_to", "Semver.compareTo(Semver) -> int", lambda a, b: (a > b) - (a < b), _S
    ),
    overload("semver_major", "Semver.major() -> int", _part(0), _S),
    overload("semver_minor", "Semver.minor() -> int", _part(1), _S),
    overload("semver_patch", "Semver.patch() -> int", _part(2), _S),
)
