"""Types whose JSON is unlike their message: times, quantities, int-or-string, raw JSON, lists that
protobuf has to wrap.

Each has a pair: ``write(message, value)`` fills a message from a JSON value, ``read(message)``
gives the JSON value back. An empty Time message is the zero time, which JSON calls null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from apiserver.codec import json
from apiserver.golang.strconv import whole
from apiserver.meta.raw import RawObject

Write = Callable[[Any, Any], None]
Read = Callable[[Any], Any]


class Special(NamedTuple):
    """``zero``: what the message holds when a field that is no pointer is not set; None for
    nothing."""

    write: Write
    read: Read
    zero: Any = None


_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def _parse(text: str) -> tuple[int, int]:
    """(seconds since the epoch, nanoseconds). Raises ValueError."""
    match = _RFC3339.fullmatch(text)
    if not match:
        raise ValueError(f"not a time: {text!r}")
    day, clock, fraction, zone = match.groups()
    when = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}")
    return int((when - _EPOCH) // timedelta(seconds=1)), int((fraction or "").ljust(9, "0") or 0)


def _format(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


def _write_time(message: Any, value: Any) -> None:
    if value is not None:
        message.seconds, message.nanos = _parse(value)[0], 0


def _read_time(message: Any) -> Any:
    return f"{_format(message.seconds)}Z" if message.ByteSize() else None


def _write_micro_time(message: Any, value: Any) -> None:
    if value is not None:
        seconds, nanos = _parse(value)
        message.seconds, message.nanos = seconds, nanos // 1000 * 1000


def _read_micro_time(message: Any) -> Any:
    return f"{_format(message.seconds)}.{message.nanos // 1000:06}Z" if message.ByteSize() else None


def _write_quantity(message: Any, value: Any) -> None:
    message.string = str(value)


def _write_int_or_string(message: Any, value: Any) -> None:
    is_text = isinstance(value, str)
    message.type = int(is_text)
    message.intVal = 0 if is_text else value
    message.strVal = value if is_text else ""


def _write_raw(field: str) -> Write:
    def write(message: Any, value: Any) -> None:
        if value is not None:
            setattr(message, field, json.encode(value))

    return write


def _read_raw(field: str) -> Read:
    def read(message: Any) -> Any:
        raw = getattr(message, field)
        return json.loads(raw)[0] if raw else None

    return read


def _write_duration(message: Any, value: Any) -> None:
    message.duration = parse_duration(value) if isinstance(value, str) else 0


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration ("1h2m3.5s"). Raises ValueError."""
    sign = -1 if text.startswith("-") else 1
    body = text.lstrip("+-")
    if body == "0":
        return 0
    parts = _DURATION.findall(body)
    if not parts or "".join(n + u for n, u in parts) != body:
        raise ValueError(f"time: invalid duration {text!r}")
    return sign * sum(
        round(float(n) * _UNITS[u]) if "." in n else whole(n) * _UNITS[u] for n, u in parts
    )


def format_duration(nanos: int) -> str:
    """Go's Duration.String: hours, minutes and seconds, or one smaller unit."""
    if nanos == 0:
        return "0s"
    sign, size = ("-", -nanos) if nanos < 0 else ("", nanos)
    for unit, scale in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if size < scale * 1000:
            return f"{sign}{_decimal(size, scale)}{unit}"
    minutes, rest = divmod(size, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, 10**9)}s"


def _decimal(size: int, scale: int) -> str:
    whole, rest = divmod(size, scale)
    digits = str(rest).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if rest else str(whole)


def _write_items(message: Any, value: Any) -> None:
    message.items.extend(value or [])


def _write_raw_extension(message: Any, value: Any) -> None:
    if isinstance(value, RawObject):
        message.raw = value.text.encode()
    else:
        _write_raw("raw")(message, value)


def _read_raw_extension(message: Any) -> Any:
    value = _read_raw("raw")(message)
    text = message.raw.decode(errors="replace").strip()
    return RawObject(value, text) if isinstance(value, dict) else value


RAW = Special(_write_raw("raw"), _read_raw("raw"))

SPECIAL: dict[str, Special] = {
    "apimachinery.pkg.apis.meta.v1.Time": Special(_write_time, _read_time),
    "apimachinery.pkg.apis.meta.v1.MicroTime": Special(_write_micro_time, _read_micro_time),
    "apimachinery.pkg.apis.meta.v1.Duration": Special(
        _write_duration, lambda m: format_duration(m.duration), "0s"
    ),
    "apimachinery.pkg.api.resource.Quantity": Special(
        _write_quantity, lambda m: m.string or "0", "0"
    ),
    "apimachinery.pkg.util.intstr.IntOrString": Special(
        _write_int_or_string, lambda m: m.strVal if m.type else m.intVal, 0
    ),
    "apimachinery.pkg.apis.meta.v1.FieldsV1": Special(_write_raw("Raw"), _read_raw("Raw")),
    "apimachinery.pkg.runtime.RawExtension": Special(_write_raw_extension, _read_raw_extension),
    "apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON": RAW,
    **{
        f"{package}.{name}": Special(_write_items, lambda m: list(m.items))
        for package, name in (
            ("apimachinery.pkg.apis.meta.v1", "Verbs"),
            ("api.authentication.v1", "ExtraValue"),
            ("api.authorization.v1", "ExtraValue"),
            ("api.certificates.v1", "ExtraValue"),
        )
    },
}
