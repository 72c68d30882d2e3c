"""Parts of timestamps and durations: ``getFullYear``, ``getHours`` ... (cel-go
``common/stdlib``)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from apiserver.cel.decls import Overload, functions, overload
from apiserver.cel.scalars import Duration, Timestamp
from apiserver.cel.timestamps import in_zone

_PARTS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "getFullYear": ("year", lambda d: d.year),
    "getMonth": ("month", lambda d: d.month - 1),
    "getDayOfYear": ("day_of_year", lambda d: d.timetuple().tm_yday - 1),
    "getDayOfMonth": ("day_of_month", lambda d: d.day - 1),
    "getDate": ("day_of_month_1_based", lambda d: d.day),
    "getDayOfWeek": ("day_of_week", lambda d: d.isoweekday() % 7),
    "getHours": ("hours", lambda d: d.hour),
    "getMinutes": ("minutes", lambda d: d.minute),
    "getSeconds": ("seconds", lambda d: d.second),
}
_DURATION_PARTS = {
    "getHours": ("hours", 3_600_000_000_000),
    "getMinutes": ("minutes", 60_000_000_000),
    "getSeconds": ("seconds", 1_000_000_000),
    "getMilliseconds": ("milliseconds", 1_000_000),
}


def _milliseconds(t: Timestamp, zone: str | None = None) -> int:
    in_zone(t, zone)  # has to be one, though no zone changes them
    return t.ns // 1_000_000 % 1000


def _overloads() -> list[Overload]:
    overloads: list[Overload] = []
    for name, (part, read) in _PARTS.items():

        def get(
            t: Timestamp, zone: str | None = None, read: Callable[[datetime], int] = read
        ) -> int:
            return read(in_zone(t, zone))

        overloads.append(overload(f"timestamp_to_{part}", f"timestamp.{name}() -> int", get))
        tz = "timestamp_to_seconds_tz" if part == "seconds" else f"timestamp_to_{part}_with_tz"
        overloads.append(overload(tz, f"timestamp.{name}(string) -> int", get))
    overloads.append(
        overload("timestamp_to_milliseconds", "timestamp.getMilliseconds() -> int", _milliseconds)
    )
    overloads.append(
        overload(
            "timestamp_to_milliseconds_with_tz",
            "timestamp.getMilliseconds(string) -> int",
            _milliseconds,
        )
    )
    for name, (part, unit) in _DURATION_PARTS.items():

        def total(d: Duration, unit: int = unit) -> int:
            whole = abs(d.ns) // unit
            return -whole if d.ns < 0 else whole

        overloads.append(overload(f"duration_to_{part}", f"duration.{name}() -> int", total))
    return overloads


CLOCK = functions(*_overloads())
