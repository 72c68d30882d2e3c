"""Resource quantities: ``100m``, ``1.5Gi``, ``2e3`` (k8s.io/apimachinery, package
``api/resource``).

A quantity is an exact decimal ``unscaled * 10**exponent`` with a format that says how to print it.
Go keeps small quantities as int64 and the text of those that are already canonical; both show
(``asInteger`` in CEL, ``+5`` staying ``+5``), so both are carried along here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from apiserver.golang.math import MAX_INT64

DECIMAL_SI, BINARY_SI, DECIMAL_EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_SYNTAX = re.compile(
    r"([+-]?)(?>0*)((?>[0-9]*))(?:\.((?>[0-9]*)))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII
)
"""Digits are taken all at once: to try to share them out otherwise took the cube of their
number."""
_INT64_DIGITS = 18
_NANO = -9
_MAX_DIGITS = 2000


class QuantityError(ValueError):
    """The text is kube-apiserver's."""


FORMAT_WRONG = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
SUFFIX_WRONG = "unable to parse quantity's suffix"
NUMBER_WRONG = "unable to parse numeric part of quantity"


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """unscaled * 10**exponent. big: Go would hold it as an arbitrary decimal. text: the accepted
    spelling, "" to print canonically."""

    unscaled: int = 0
    exponent: int = 0
    format: str = DECIMAL_SI
    big: bool = False
    text: str = field(default="", repr=False)

    @property
    def is_zero(self) -> bool:
        return self.unscaled == 0

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1."""
        a, b, _ = _aligned(self, other)
        return (a > b) - (a < b)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        unscaled, times = _without_factors(self.unscaled, 10)
        return hash((unscaled, self.exponent + times if unscaled else 0))

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __add__(self, other: Quantity) -> Quantity:
        a, b, exponent = _aligned(self, other)
        return self._result(other, a + b, exponent)

    def __sub__(self, other: Quantity) -> Quantity:
        a, b, exponent = _aligned(self, other)
        return self._result(other, a - b, exponent)

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.exponent, self.format, self.big)

    def _result(self, other: Quantity, unscaled: int, exponent: int) -> Quantity:
        """A sum keeps the format of its first operand, unless that is zero."""
        chosen = other.format if self.is_zero else self.format
        return Quantity(
            unscaled, exponent, chosen, self.big or other.big or abs(unscaled) > MAX_INT64
        )

    def scaled(self, exponent: int) -> int:
        """The value in units of 10**exponent, rounded away from zero: ``scaled(0)`` is Value(),
        ``scaled(-3)`` MilliValue()."""
        shift = self.exponent - exponent
        if shift >= 0:
            return self.unscaled * _power(shift)
        magnitude = -(-abs(self.unscaled) // _power(-shift))
        return magnitude if self.unscaled >= 0 else -magnitude

    def as_int64(self) -> int | None:
        """The exact value where Go's AsInt64 gives one; it gives none for what it holds as a
        decimal or with a negative scale."""
        if self.big or self.exponent < 0:
            return None
        value = self.unscaled * _power(self.exponent)
        return value if -MAX_INT64 - 1 <= value <= MAX_INT64 else None

    def as_float(self) -> float:
        """The nearest float (AsApproximateFloat64)."""
        try:
            return (
                float(self.unscaled) * 10.0**self.exponent
                if self.exponent
                else float(self.unscaled)
            )
        except OverflowError:
            return float("inf") * self.sign

    def __str__(self) -> str:
        return self.text or self._canonical()

    def _canonical(self) -> str:
        if self.is_zero:
            return "0"
        if self.format == BINARY_SI:
            whole = self.scaled(0)
            exact = self.exponent >= 0 or self.unscaled % _power(-self.exponent) == 0
            if exact and abs(whole) >= 1024:
                number, times = _without_factors(whole, 1024)
                return f"{number}{_BINARY_SUFFIX.get(times * 10, '')}"
        number, times = _without_factors(self.unscaled, 10)
        exponent = self.exponent + times
        number *= 10 ** (exponent % 3)
        exponent -= exponent % 3
        if self.format == DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"


ZERO = Quantity(text="0")


def _aligned(a: Quantity, b: Quantity) -> tuple[int, int, int]:
    """Both numbers over the smaller exponent."""
    exponent = min(a.exponent, b.exponent)
    return (
        a.unscaled * _power(a.exponent - exponent),
        b.unscaled * _power(b.exponent - exponent),
        exponent,
    )


def _power(exponent: int) -> int:
    """10**exponent for an exponent >= 0; bounded, so that a client's ``1e999999999`` costs nothing
    and still is the larger one."""
    power: int = 10 ** min(exponent, 2 * _MAX_DIGITS)
    return power


def _without_factors(value: int, base: int) -> tuple[int, int]:
    times = 0
    while value and value % base == 0:
        value //= base
        times += 1
    return value, times


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity:
    """Raises QuantityError with kube-apiserver's text."""
    if text == "0":
        return ZERO
    match = _SYNTAX.fullmatch(text)
    if not text or match is None:
        raise QuantityError(FORMAT_WRONG)
    if len(text) > _MAX_DIGITS:
        raise QuantityError(NUMBER_WRONG)
    sign, number, fraction, suffix = match[1], match[2] or "0", match[3] or "", match[4]
    if suffix in _BINARY:
        quantity = _binary(number, fraction, _BINARY[suffix], text)
    elif suffix in _DECIMAL:
        quantity = _decimal(number, fraction, _DECIMAL[suffix], DECIMAL_SI, text)
    elif re.fullmatch(r"[eE][+-]?[0-9]+", suffix) and abs(int(suffix[1:])) < 2**31:
        quantity = _decimal(number, fraction, int(suffix[1:]), DECIMAL_EXPONENT, text)
    else:
        raise QuantityError(SUFFIX_WRONG)
    if sign == "-":
        return Quantity(
            -quantity.unscaled, quantity.exponent, quantity.format, quantity.big, quantity.text
        )
    return quantity


def canonical_quantity(text: str) -> str:
    """How Go prints a quantity after reading it; white space around it is ignored, as in JSON
    decoding. Raises QuantityError."""
    return str(parse_quantity(text.strip()))


def _decimal(number: str, fraction: str, exponent: int, fmt: str, text: str) -> Quantity:
    digits = number + fraction
    scale = exponent - len(fraction)
    if len(digits) <= _INT64_DIGITS and scale >= _NANO:
        keep = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        return Quantity(int(digits), scale, fmt, text=text if keep else "")
    return _rounded(int(digits), scale, fmt)


def _binary(number: str, fraction: str, exponent: int, text: str) -> Quantity:
    value = int(number) << exponent
    if not fraction and 15 - len(number) - int(exponent * 3 / 10) - 1 >= 0 and value <= MAX_INT64:
        return Quantity(value, 0, BINARY_SI, text=text if int(number) & 7 else "")
    whole = _rounded(int(number + fraction) << exponent, -len(fraction), BINARY_SI)
    if whole.compare(Quantity(MAX_INT64)) > 0:
        return Quantity(MAX_INT64, 0, BINARY_SI, big=True)
    if not whole.is_zero and whole.compare(Quantity(1)) < 0:
        return Quantity(whole.unscaled, whole.exponent, DECIMAL_SI, big=True)
    return whole


def _rounded(unscaled: int, exponent: int, fmt: str) -> Quantity:
    """Nothing finer than a nano survives; the rest is rounded up."""
    if exponent < _NANO:
        return Quantity(-(-unscaled // _power(_NANO - exponent)), _NANO, fmt, big=True)
    return Quantity(unscaled, exponent, fmt, big=True)
