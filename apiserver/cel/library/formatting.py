"""``string.format``: the clauses %s %d %f %e %b %x %X %o and precisions (cel-go
``ext/formatting.go``, ``formatting_v2.go``).

Kubernetes has the older, localized one (`format_local`): numbers of %f with thousands separators,
%e as ``1.2×10⁰³``, strings inside lists quoted. The newer one (`format_plain`) is what CEL's
conformance data describes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from apiserver.cel.errors import BudgetExceeded, EvalError
from apiserver.cel.scalars import Duration, Timestamp, Uint
from apiserver.cel.timestamps import format_seconds, format_timestamp
from apiserver.cel.types import Type
from apiserver.cel.values import Joined, flat, type_of
from apiserver.effort import hold, spend
from apiserver.golang.strconv import NumError, format_float, go_quote, plain_digits, shortest_digits

DEFAULT_PRECISION = 6
_MOST_DIGITS = 4000
"""Of a precision, as long as Python formats decimals with it."""
_CONTEXT = Context(prec=5000)
_SUPERSCRIPT = str.maketrans(
    "0123456789-", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"
)
STRING_CLAUSE = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
    "lists, types, durations, and timestamps"
)


class ClauseError(Exception):
    """A clause and its argument do not go together."""


@dataclass(frozen=True, slots=True)
class Clause:
    """verb: s d f e b x X o; precision: digits after the point."""

    verb: str
    precision: int


Formatter = Callable[[Clause, int], str]


def interpolate(template: str, count: int, formatter: Formatter) -> str:
    """The template with clause number i replaced by formatter(clause, i). Raises EvalError in
    cel-go's words."""
    out: list[str] = []
    at, index = 0, 0
    while at < len(template):
        spend(10)
        if template[at] != "%":
            end = template.find("%", at)
            out.append(template[at : end if end >= 0 else len(template)])
            at += len(out[-1])
        elif template[at + 1 : at + 2] == "%":
            out.append("%")
            at += 2
        else:
            if at + 1 >= len(template):
                raise EvalError("unexpected end of string")
            if index >= count:
                raise EvalError(f"index {index} out of range")
            try:
                clause, at = _clause(template, at + 1)
            except ClauseError as e:
                raise EvalError(f"could not parse formatting clause: {e}") from None
            hold(clause.precision)
            try:
                out.append(formatter(clause, index))
                hold(4 * len(out[-1]))
            except ClauseError as e:
                raise EvalError(f"error during formatting: {e}") from None
            index += 1
    return "".join(out)


def _clause(template: str, at: int) -> tuple[Clause, int]:
    precision = DEFAULT_PRECISION
    if template[at] == ".":
        end = at + 1
        while end < len(template) and template[end] in "0123456789":
            end += 1
        if end >= len(template):
            raise ClauseError(
                "error while parsing precision: could not find end of precision specifier"
            )
        digits = template[at + 1 : end]
        if not digits:
            detail = NumError("Atoi", "", "invalid syntax")
            raise ClauseError(
                f"error while parsing precision: error while converting precision to integer: "
                f"{detail}"
            )
        precision = int(digits[:20])
        at = end
    verb = template[at]
    if verb not in "sdfebxXo":
        raise ClauseError(f'unrecognized formatting clause "{verb}"')
    return Clause(verb, precision), at + 1


def _fail(what: str, value: Any) -> ClauseError:
    return ClauseError(f"{what}, was given {type_of(value).name}")


def _integer(value: Any) -> bool:
    return type(value) is int or type(value) is Uint


def _binary(value: Any, complaint: str) -> str:
    if type(value) is bool:
        return "1" if value else "0"
    if not _integer(value):
        raise _fail(complaint, value)
    return f"{int(value):b}"


def _hex(value: Any, upper: bool, complaint: str) -> str:
    if isinstance(value, str):
        text = value.encode().hex()
    elif isinstance(value, bytes):
        text = value.hex()
    elif _integer(value):
        text = f"{int(value):x}"
    else:
        raise _fail(complaint, value)
    return text.upper() if upper else text


def _octal(value: Any, complaint: str) -> str:
    if not _integer(value):
        raise _fail(complaint, value)
    return f"{int(value):o}"


# --- the localized style, Kubernetes' -------------------------------------------------------------
def _string_local(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | Joined):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    if isinstance(value, Mapping):
        return _map_local(value)
    return simple_string(value)


def simple_string(value: Any) -> str:
    """What ``string(value)`` gives."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if _integer(value):
        return str(value)
    if kind is float:
        return format_float(value)
    if kind is bytes:
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            raise ClauseError(
                'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to '
                "string"
            ) from None
    if kind is Timestamp:
        return format_timestamp(value)
    if kind is Duration:
        return format_seconds(value)
    if kind is Type:
        return str(value.name)
    raise _fail(STRING_CLAUSE, value)


def _quoted(value: Any) -> str:
    """A member of a list or map."""
    kind = type(value)
    length = len(value) if kind is str or kind is bytes else 10
    spend(10 + length // 10)
    hold(2 * length)
    if kind is str:
        return go_quote(value)
    if kind is bytes:
        return "b" + go_quote(simple_string(value))
    if kind is float:
        if math.isnan(value) or math.isinf(value):
            return go_quote("NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf")
        return f"{value:.6f}"
    if kind is Timestamp:
        return f"timestamp({go_quote(format_timestamp(value))})"
    if kind is Duration:
        return f"duration({go_quote(format_seconds(value))})"
    if (
        value is None
        or kind is bool
        or _integer(value)
        or kind is Type
        or isinstance(value, list | Mapping | Joined)
    ):
        return _string_local(value)
    raise ClauseError(f"no formatting function for {type_of(value).name}")


def _map_local(value: Mapping[Any, Any]) -> str:
    pairs = []
    for key, item in value.items():
        if not isinstance(key, str | bool | int):
            raise ClauseError(f"no formatting function for map key of type {type_of(key).name}")
        pairs.append((_quoted(key), _quoted(item)))
    pairs.sort(key=lambda p: p[0])
    return "{" + ", ".join(f"{k}:{v}" for k, v in pairs) + "}"


def _number_local(clause: Clause, value: Any) -> str:
    name = "fixed-point" if clause.verb == "f" else "scientific"
    special = type(value) is str and value in ("NaN", "Infinity", "-Infinity")
    if type(value) is not float and not special:
        raise _fail(f"{name} clause can only be used on doubles", value)
    number = float(value)
    if math.isnan(number):
        text = "NaN"
    elif math.isinf(number):
        text = "\u221e" if number > 0 else "-\u221e"
    elif clause.verb == "f":
        return f"{rounded(number, clause.precision):,f}"
    else:
        mantissa, _, exponent = f"{number:.{DEFAULT_PRECISION}e}".partition("e")
        power = f"{'-' if exponent[0] == '-' else ''}{exponent[1:].zfill(2)}".translate(
            _SUPERSCRIPT
        )
        text = f"{mantissa}\u00d710{power}"
    # cel-go hands the precision of %e to Go's formatter as a width
    return text.rjust(clause.precision) if clause.verb == "e" else text


def rounded(number: float, precision: int) -> Decimal:
    """Exact decimal value, rounded half to even as Go does."""
    if precision > _MOST_DIGITS:
        raise BudgetExceeded
    return Decimal(number).quantize(
        Decimal(1).scaleb(-precision), rounding=ROUND_HALF_EVEN, context=_CONTEXT
    )


def format_local(template: str, args: list[Any]) -> str:
    args = flat(args)

    def clause(c: Clause, index: int) -> str:
        value = args[index]
        if c.verb == "s":
            return _string_local(value)
        if c.verb == "d":
            if not _integer(value):
                raise _fail("decimal clause can only be used on integers", value)
            return str(value)
        if c.verb in "fe":
            return _number_local(c, value)
        if c.verb == "b":
            return _binary(value, "only integers and bools can be formatted as binary")
        if c.verb == "o":
            return _octal(value, "octal clause can only be used on integers")
        return _hex(
            value, c.verb == "X", "only integers, byte buffers, and strings can be formatted as hex"
        )

    return interpolate(template, len(args), clause)


# --- the plain style ------------------------------------------------------------------------------
def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "" if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"


def _plain_double(number: float) -> str:
    digits, exponent = shortest_digits(abs(number))
    return _special(number) or ("-" if math.copysign(1.0, number) < 0 else "") + plain_digits(
        digits, exponent
    )


def _string_plain(value: Any) -> str:
    if value is None:
        return "null"
    if type(value) is float:
        return _plain_double(value)
    spend(10)
    hold(20)
    if isinstance(value, list | Joined):
        return "[" + ", ".join(map(_string_plain, value)) + "]"
    if isinstance(value, Mapping):
        pairs = sorted((_string_plain(k), _string_plain(v)) for k, v in value.items())
        return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    return simple_string(value)


def _number_plain(clause: Clause, value: Any) -> str:
    name = "fixed-point" if clause.verb == "f" else "scientific"
    if not _integer(value) and type(value) is not float:
        raise _fail(f"{name} clause can only be used on ints, uints, and doubles", value)
    number = float(value)
    if not math.isfinite(number):
        return _special(number)
    return (
        f"{rounded(number, clause.precision):f}"
        if clause.verb == "f"
        else f"{number:.{clause.precision}e}"
    )


def format_plain(template: str, args: list[Any]) -> str:
    args = flat(args)

    def clause(c: Clause, index: int) -> str:
        value = args[index]
        if c.verb == "s":
            return _string_plain(value)
        if c.verb == "d":
            if type(value) is float:
                return _plain_double(value)
            if not _integer(value):
                raise _fail("decimal clause can only be used on ints, uints, and doubles", value)
            return str(value)
        if c.verb in "fe":
            return _number_plain(c, value)
        if c.verb == "b":
            return _binary(value, "only ints, uints, and bools can be formatted as binary")
        if c.verb == "o":
            return _octal(value, "octal clause can only be used on ints and uints")
        return _hex(
            value, c.verb == "X", "only ints, uints, bytes, and strings can be formatted as hex"
        )

    return interpolate(template, len(args), clause)
