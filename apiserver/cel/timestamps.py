"""Durations, timestamps and time zones of CEL, in nanoseconds (cel-go ``types/timestamp.go``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apiserver.cel.errors import EvalError
from apiserver.cel.scalars import Duration, Timestamp
from apiserver.cel.values import SECOND
from apiserver.effort import spend
from apiserver.golang import time
from apiserver.golang.strconv import plain_digits, shortest_digits

MIN_SECONDS: Final = -62135596800
MAX_SECONDS: Final = 253402300799
_LONGEST: Final = 1000
"""Characters that are read as a duration, a timestamp or a zone."""
_ZONE_STEPS: Final = 2000
"""To look a zone up in the files of the system."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> Duration | None:
    """``1h30m``, ``-1.5s``, ``0``; None when it is no duration or does not fit 64 bits."""
    if len(text) > _LONGEST:
        return None
    try:
        return Duration(time.parse_duration(text))
    except time.TimeError:
        return None


def format_seconds(d: Duration) -> str:
    """Seconds as the shortest text of their float64: ``3600s``, ``0.001s``; of centuries, not all
    nanoseconds show."""
    whole, rest = divmod(abs(d.ns), SECOND)
    seconds = plain_digits(*shortest_digits(whole + rest / SECOND))
    return f"{'-' if d.ns < 0 else ''}{seconds}s"


def parse_timestamp(text: str) -> Timestamp | None:
    """RFC 3339 with at most nine decimals; None when it is none. Raises EvalError outside of the
    years 1 to 9999."""
    if len(text) > _LONGEST:
        return None
    try:
        clock, nanoseconds, offset = time.parse_parts(text, time.RFC3339)
    except time.TimeError:
        return None
    ahead = int(offset.total_seconds())
    seconds = int((clock - _EPOCH).total_seconds()) - ahead
    return checked_timestamp(seconds * SECOND + nanoseconds, ahead)


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
            hours, minutes = divmod(abs(t.offset) // 60, 60)
            zone = f"{'-' if t.offset < 0 else '+'}{hours:02d}:{minutes:02d}"
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
    spend(_ZONE_STEPS)
    if len(name) > _LONGEST:
        raise EvalError(f"unknown time zone {name[:_LONGEST]}")
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
