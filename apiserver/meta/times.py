"""Times and durations as Go reads and prints them: RFC 3339 in seconds or microseconds, ``1h30m0s``, and the ages of tables.

Parse errors carry Go's texts, because kube-apiserver passes them to clients.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

from apiserver.meta.gotext import go_quote

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"
ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time, which JSON shows as null."""

_STEPS = (
    ("2006", r"\d{4}", ""), ("-", "-", ""), ("01", r"\d{2}", "month"), ("-", "-", ""), ("02", r"\d{2}", ""), ("T", "T", ""),
    ("15", r"\d{1,2}", "hour"), (":", ":", ""), ("04", r"\d{2}", "minute"), (":", ":", ""), ("05", r"\d{2}", "second"),
)  # fmt: skip
_PATTERNS = tuple((layout, re.compile(pattern, re.ASCII), name) for layout, pattern, name in _STEPS)
_BOUNDS = {"month": (1, 12), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
_FRACTION = re.compile(r"[.,](\d+)", re.ASCII)
_MICROS = re.compile(r"[.,](\d{6})", re.ASCII)
_ZONE = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)
_PLAIN = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)


class TimeError(ValueError):
    """The text is Go's."""


def now() -> datetime:
    """This moment, UTC."""
    return datetime.now(UTC)


def now_rfc3339() -> str:
    return format_time(now())


def now_micro() -> str:
    return format_micro_time(now())


def format_time(moment: datetime) -> str:
    """metav1.Time: whole seconds, UTC."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"  # strftime looks at the machine's time zone each time


def format_micro_time(moment: datetime) -> str:
    """metav1.MicroTime: six digits always, UTC."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def parse_time(text: str) -> datetime:
    """RFC 3339 with any fraction. Raises TimeError."""
    if _PLAIN.fullmatch(text):
        try:
            return datetime(
                int(text[:4]), int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16]), int(text[17:19]), tzinfo=UTC
            )
        except ValueError:
            pass
    return _parse(text, RFC3339)


def parse_micro_time(text: str) -> datetime:
    """RFC 3339 with exactly six digits of fraction. Raises TimeError."""
    return _parse(text, RFC3339_MICRO)


def canonical_time(text: str) -> str:
    """A metav1.Time after a round trip; raises TimeError."""
    return format_time(parse_time(text))


def canonical_micro_time(text: str) -> str:
    """A metav1.MicroTime after a round trip; raises TimeError."""
    return format_micro_time(parse_micro_time(text))


def _parse(text: str, layout: str) -> datetime:
    """Go's time.Parse: element by element, so that the error names the element that fails."""

    def cannot(rest: str, element: str) -> TimeError:
        return TimeError(f"parsing time {go_quote(text)} as {go_quote(layout)}: cannot parse {go_quote(rest)} as {go_quote(element)}")

    def out_of_range(what: str) -> TimeError:
        return TimeError(f"parsing time {go_quote(text)}: {what} out of range")

    rest, numbers = text, []
    for element, pattern, name in _PATTERNS:
        found = pattern.match(rest)
        if found is None:
            raise cannot(rest, element)
        rest = rest[found.end() :]
        if element.isdigit():
            numbers.append(int(found[0]))
            low, high = _BOUNDS.get(name, (0, 9999))
            if not low <= numbers[-1] <= high:
                raise out_of_range(name)
    fraction = (_MICROS if layout == RFC3339_MICRO else _FRACTION).match(rest)
    if fraction is None and layout == RFC3339_MICRO:
        raise cannot(rest, ".000000")
    rest = rest[fraction.end() :] if fraction else rest
    offset, left = _zone(rest)
    if offset is None:
        raise cannot(rest, "Z07:00")
    if rest[:1] != "Z" and int(rest[1:3]) > 24:
        raise out_of_range("time zone offset hour")
    if rest[:1] != "Z" and int(rest[4:6]) > 60:
        raise out_of_range("time zone offset minute")
    if left:
        raise TimeError(f"parsing time {go_quote(text)}: extra text: {go_quote(left)}")
    year, month, day, hour, minute, second = numbers
    if not 1 <= day <= monthrange(year or 4, month)[1]:
        raise out_of_range("day")
    micros = int(fraction[1][:6].ljust(6, "0")) if fraction else 0
    try:
        return datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC) - offset
    except (ValueError, OverflowError):
        raise out_of_range("year") from None


def _zone(rest: str) -> tuple[timedelta | None, str]:
    """Offset from UTC and what follows; None where no zone stands. Offsets out of range are left to the caller."""
    if rest.startswith("Z"):
        return timedelta(), rest[1:]
    found = _ZONE.match(rest)
    if found is None:
        return None, rest
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return (-offset if found[1] == "-" else offset), rest[found.end() :]


_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
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
        found = _PART.match(rest)
        if found is None or (not found[1] and len(found[2] or "") < 2):
            raise wrong
        if not found[3]:
            raise TimeError(f"time: missing unit in duration {go_quote(text)}")
        unit = _UNITS.get(found[3])
        if unit is None:
            raise TimeError(f"time: unknown unit {go_quote(found[3])} in duration {go_quote(text)}")
        fraction = (found[2] or ".")[1:]
        total += int(found[1] or 0) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        rest = rest[found.end() :]
    if total > 2**63 - (0 if text.startswith("-") else 1):
        raise wrong
    return -total if text.startswith("-") else total


def format_duration(nanoseconds: int) -> str:
    """Go's Duration.String: ``1h0m0s``, ``1.5s``, ``100ms``, ``0s``."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    if rest < 10**9:
        unit, size = next((u, s) for u, s in (("ns", 10**3), ("µs", 10**6), ("ms", 10**9)) if rest < s)
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


def human_duration(seconds: float) -> str:
    """An age as tables show it, two or three significant figures (k8s.io/apimachinery ``util/duration.HumanDuration``)."""
    s = int(seconds)
    if s < -1:
        return "<invalid>"
    if s < 0:
        return "0s"
    if s < 120:
        return f"{s}s"
    minutes, hours = s // 60, s // 3600
    if minutes < 10:
        return _pair(minutes, "m", s % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 24 * 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _pair(big: int, big_unit: str, small: int, small_unit: str) -> str:
    return f"{big}{big_unit}{small}{small_unit}" if small else f"{big}{big_unit}"


def age(timestamp: str | None, at: datetime | None = None) -> str:
    """The age of a metav1.Time; ``<unknown>`` where there is none."""
    if not timestamp:
        return "<unknown>"
    return human_duration(((at or now()) - parse_time(timestamp)).total_seconds())
