"""Durations, timestamps and time zones as Go has them, in nanoseconds (``time.ParseDuration``, RFC 3339, cel-go ``types/timestamp.go``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apiserver.cel.errors import EvalError
from apiserver.cel.values import INT_MAX, INT_MIN, SECOND, Duration, Timestamp

MIN_SECONDS: Final = -62135596800
MAX_SECONDS: Final = 253402300799
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_UNITS = {"ns": 1, "us": 1_000, "\u00b5s": 1_000, "\u03bcs": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)")
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))", re.ASCII
)


def parse_duration(text: str) -> Duration | None:
    """``1h30m``, ``-1.5s``, ``0``; None when it is no duration or does not fit 64 bits."""
    if not _DURATION.fullmatch(text):
        return None
    total = 0
    for whole, fraction, unit in _DURATION_PART.findall(text):
        scale = _UNITS[unit]
        total += int(whole or "0") * scale
        if fraction:
            total += int(fraction) * scale // 10 ** len(fraction)
    if text.startswith("-"):
        total = -total
    return Duration(total) if INT_MIN <= total <= INT_MAX else None


def format_seconds(d: Duration) -> str:
    """Seconds without needless digits: ``3600s``, ``0.001s``."""
    whole, rest = divmod(abs(d.ns), SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if d.ns < 0 else ''}{whole}{fraction}s"


def parse_timestamp(text: str) -> Timestamp | None:
    """RFC 3339 with at most nine decimals; None when it is none. Raises EvalError outside of the years 1 to 9999."""
    m = _TIMESTAMP.fullmatch(text)
    if m is None:
        return None
    year, month, day, hour, minute, second = (int(m[i]) for i in range(1, 7))
    if year == 0 or (m[8] and (int(m[9]) > 24 or int(m[10]) > 60)):
        return None
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    offset = 0
    if m[8]:
        offset = (int(m[9]) * 3600 + int(m[10]) * 60) * (-1 if m[8] == "-" else 1)
    seconds = int((local - _EPOCH).total_seconds()) - offset
    nanoseconds = int((m[7] or "0")[:9].ljust(9, "0"))
    return checked_timestamp(seconds * SECOND + nanoseconds, offset)


def checked_timestamp(ns: int, offset: int = 0) -> Timestamp:
    if not MIN_SECONDS <= ns // SECOND <= MAX_SECONDS:
        raise EvalError("timestamp overflow")
    return Timestamp(ns, offset)


def format_timestamp(t: Timestamp) -> str:
    """RFC 3339 in the zone that the timestamp was written in, decimals without trailing zeros."""
    seconds, rest = divmod(t.ns, SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    zone = "Z"
    try:
        local = at(seconds + t.offset)
        if t.offset:
            zone = f"{'-' if t.offset < 0 else '+'}{abs(t.offset) // 3600:02d}:{abs(t.offset) // 60 % 60:02d}"
    except OverflowError:  # beyond the years that Python counts
        local = at(seconds)
    return f"{local.year:04d}-{local:%m-%dT%H:%M:%S}{fraction}{zone}"


def at(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


def in_zone(t: Timestamp, zone: str | None) -> datetime:
    """Calendar and clock of a timestamp, in UTC or a named or numeric (``-08:00``) zone."""
    utc = at(t.ns // SECOND)
    if not zone or zone == "UTC":
        return utc
    try:
        return utc.astimezone(_zone(zone))
    except OverflowError:
        raise EvalError("timestamp overflow") from None


@lru_cache(maxsize=1024)
def _zone(name: str) -> tzinfo:
    if ":" not in name:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise EvalError(f"unknown time zone {name}") from None
    hours, _, minutes = name.partition(":")
    if not re.fullmatch(r"[+-]?[0-9]{1,5}", hours) or not re.fullmatch(r"[+-]?[0-9]{1,5}", minutes):
        raise EvalError(f'strconv.Atoi: parsing "{name}": invalid syntax')
    if not 0 <= int(minutes) <= 59:
        raise EvalError(f"timezone offset minutes out of range [0, 59]: {name}")
    offset = int(hours) * 60 + (-int(minutes) if hours.startswith("-") else int(minutes))
    try:
        return timezone(timedelta(minutes=offset))
    except ValueError:
        raise EvalError(f"unknown time zone {name}") from None
