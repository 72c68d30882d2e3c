"""Go's package ``time``: RFC 3339 and durations such as ``1h30m``, read as Go reads them, with its
errors, which kube-apiserver passes to clients."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

from apiserver.golang.strconv import go_quote, whole

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"

_STEPS = (
    ("2006", r"\d{4}", ""),
    ("-", "-", ""),
    ("01", r"\d{2}", "month"),
    ("-", "-", ""),
    ("02", r"\d{2}", ""),
    ("T", "T", ""),
    ("15", r"\d{1,2}", "hour"),
    (":", ":", ""),
    ("04", r"\d{2}", "minute"),
    (":", ":", ""),
    ("05", r"\d{2}", "second"),
)
_PATTERNS = tuple((layout, re.compile(pattern, re.ASCII), name) for layout, pattern, name in _STEPS)
_BOUNDS = {"month": (1, 12), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
_COMMON = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d{1,9}))?"
    r"(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)
_FRACTION = re.compile(r"[.,](\d+)", re.ASCII)
_MICROS = re.compile(r"[.,](\d{6})", re.ASCII)
_ZONE = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)


class TimeError(ValueError):
    """The text is Go's."""


_NO_OFFSET = timedelta()


def parse(text: str, layout: str) -> datetime:
    """time.Parse with one of the layouts above, in UTC, cut to microseconds. Raises TimeError."""
    clock, nanoseconds, offset = parse_parts(text, layout)
    if nanoseconds:
        clock = clock.replace(microsecond=nanoseconds // 1000)
    try:
        return clock - offset if offset else clock
    except OverflowError:
        raise _out_of_range(text, "year") from None


def parse_parts(text: str, layout: str) -> tuple[datetime, int, timedelta]:
    """(what calendar and clock show, nanoseconds of the second, how far they are ahead of UTC) of a
    text in one of the layouts above. Raises TimeError."""
    if layout == RFC3339 and (match := _COMMON.fullmatch(text)):
        fraction, sign, hours, minutes = match.groups()
        try:
            moment = datetime.fromisoformat(f"{text[:19]}Z")
        except ValueError:
            return _step_by_step(text, layout)
        nanoseconds = int(fraction.ljust(9, "0")) if fraction else 0
        if sign is None:
            return moment, nanoseconds, _NO_OFFSET
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return moment, nanoseconds, -offset if sign == "-" else offset
    return _step_by_step(text, layout)


def _step_by_step(text: str, layout: str) -> tuple[datetime, int, timedelta]:
    """`parse_parts` element by element, as time.Parse does, so that the error names the element
    that fails."""

    def cannot(rest: str, element: str) -> TimeError:
        return TimeError(
            f"parsing time {go_quote(text)} as {go_quote(layout)}: cannot parse {go_quote(rest)} "
            f"as {go_quote(element)}"
        )

    rest, numbers = text, []
    for element, pattern, name in _PATTERNS:
        match = pattern.match(rest)
        if match is None:
            raise cannot(rest, element)
        rest = rest[match.end() :]
        if element.isdigit():
            numbers.append(int(match[0]))
            low, high = _BOUNDS.get(name, (0, 9999))
            if not low <= numbers[-1] <= high:
                raise _out_of_range(text, name)
    fraction = (_MICROS if layout == RFC3339_MICRO else _FRACTION).match(rest)
    if fraction is None and layout == RFC3339_MICRO:
        raise cannot(rest, ".000000")
    rest = rest[fraction.end() :] if fraction else rest
    offset, left = _zone(text, rest)
    if offset is None:
        raise cannot(rest, "Z07:00")
    if left:
        raise TimeError(f"parsing time {go_quote(text)}: extra text: {go_quote(left)}")
    return _moment(text, *numbers), int(fraction[1][:9].ljust(9, "0")) if fraction else 0, offset


def _out_of_range(text: str, what: str) -> TimeError:
    return TimeError(f"parsing time {go_quote(text)}: {what} out of range")


def _moment(
    text: str, year: int, month: int, day: int, hour: int, minute: int, second: int
) -> datetime:
    if not 1 <= day <= monthrange(year or 4, month)[1]:
        raise _out_of_range(text, "day")
    if year == 0:  # Python's calendar begins with 1
        raise _out_of_range(text, "year")
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _zone(text: str, rest: str) -> tuple[timedelta | None, str]:
    """How far the zone is ahead of UTC, and what follows it; None where no zone stands."""
    if rest.startswith("Z"):
        return timedelta(), rest[1:]
    match = _ZONE.match(rest)
    if match is None:
        return None, rest
    hours, minutes = int(match[2]), int(match[3])
    if hours > 24:
        raise _out_of_range(text, "time zone offset hour")
    if minutes > 60:
        raise _out_of_range(text, "time zone offset minute")
    offset = timedelta(hours=hours, minutes=minutes)
    return (-offset if match[1] == "-" else offset), rest[match.end() :]


_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(\d*)(\.\d*)?([^\d.]*)", re.ASCII)


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration such as ``1h30m`` or ``-1.5s``. Raises TimeError."""
    wrong = TimeError(f"time: invalid duration {go_quote(text)}")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise wrong
    total = 0
    while rest:
        match = _PART.match(rest)
        if match is None or (not match[1] and len(match[2] or "") < 2):
            raise wrong
        if not match[3]:
            raise TimeError(f"time: missing unit in duration {go_quote(text)}")
        unit = _UNITS.get(match[3])
        if unit is None:
            raise TimeError(f"time: unknown unit {go_quote(match[3])} in duration {go_quote(text)}")
        fraction = (match[2] or ".")[1:][:18]  # as far as 64 bits tell them apart
        total += whole(match[1] or "0") * unit + (
            int(fraction) * unit // 10 ** len(fraction) if fraction else 0
        )
        rest = rest[match.end() :]
    if total > 2**63 - (0 if text.startswith("-") else 1):
        raise wrong
    return -total if text.startswith("-") else total


def format_duration(nanoseconds: int) -> str:
    """Go's Duration.String: ``1h0m0s``, ``1.5s``, ``100ms``, ``0s``."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    if rest < 10**9:
        unit, size = next(
            (u, s) for u, s in (("ns", 10**3), ("µs", 10**6), ("ms", 10**9)) if rest < s
        )
        return f"{sign}{_decimal(rest, size // 1000)}{unit}"
    minutes, seconds = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    out = f"{_decimal(seconds, 10**9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{out}"
    return f"{sign}{minutes}m{out}" if minutes else sign + out


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    digits = str(fraction).rjust(len(str(unit)) - 1, "0").rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)
