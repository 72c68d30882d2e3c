"""Kubernetes' times: metav1.Time (whole seconds) and metav1.MicroTime, and the ages of tables.

Parse errors carry Go's texts (apiserver.golang.time), because kube-apiserver passes them to
clients.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from apiserver.golang.time import RFC3339, RFC3339_MICRO, parse


def now() -> datetime:
    """This moment, UTC."""
    return datetime.now(UTC)


def format_time(moment: datetime) -> str:
    """metav1.Time: whole seconds, UTC."""
    return (
        moment.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"
    )  # strftime looks at the machine's time zone each time


def format_optional_time(moment: datetime | None) -> str | None:
    """As `format_time`; None stays None."""
    return None if moment is None else format_time(moment)


def format_micro_time(moment: datetime) -> str:
    """metav1.MicroTime: six digits always, UTC."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def parse_time(text: str) -> datetime:
    """RFC 3339 with any fraction. Raises TimeError."""
    return parse(text, RFC3339)


def parse_micro_time(text: str) -> datetime:
    """RFC 3339 with exactly six digits of fraction. Raises TimeError."""
    return parse(text, RFC3339_MICRO)


_CANONICAL = len("2006-01-02T15:04:05Z")


def canonical_time(text: str) -> str:
    """A metav1.Time after a round trip; raises TimeError."""
    # a write reads those of the stored object again: when it and its managers came to be
    return _remembered(text) if len(text) == _CANONICAL else format_time(parse_time(text))


@lru_cache(4096)
def _remembered(text: str) -> str:
    return format_time(parse_time(text))


def canonical_micro_time(text: str) -> str:
    """A metav1.MicroTime after a round trip; raises TimeError."""
    return format_micro_time(parse_micro_time(text))


_LONGEST = 2**63 / 1e9
"""Seconds."""


def human_duration(seconds: float) -> str:
    """An age as tables show it, two or three significant figures (k8s.io/apimachinery
    ``util/duration.HumanDuration``); none is longer than a Go Duration."""
    s = int(min(max(seconds, -_LONGEST), _LONGEST))
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
