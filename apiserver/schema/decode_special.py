"""Decoding of the Go types that read and write themselves: Time, MicroTime, Duration, Quantity,
IntOrString, []byte and raw JSON.

An error of these types ends the decoding at once (DecodeError); only base64 is read by the JSON
library itself and waits for the end.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from apiserver.golang.base64 import CorruptInput, decode
from apiserver.golang.json import type_name
from apiserver.golang.math import whole_numbers
from apiserver.golang.time import TimeError, format_duration, parse_duration
from apiserver.meta.objects import copy_json
from apiserver.meta.quantity import QuantityError, canonical_quantity
from apiserver.meta.raw import RawObject
from apiserver.meta.times import canonical_micro_time, canonical_time
from apiserver.schema.decode_errors import DecodeError, Decoder, Path, Run, type_error

ZERO_SPECIAL: dict[str, Any] = {"quantity": "0", "int-or-string": 0, "duration": "0s"}
"""What the zero value of each looks like in JSON; null for the others."""


def anything(value: Any, run: Run, path: Path) -> Any:
    """What has no type of its own, taken as it is."""
    return copy_json(value)


def _json(value: Any, run: Run, path: Path) -> Any:
    """Raw JSON; Go writes a float without a fraction as an integer."""
    return whole_numbers(copy_json(value))


def _fields(value: Any, run: Run, path: Path) -> Any:
    """FieldsV1: sets of fields, which are made anew and never changed."""
    return value


def _text(value: Any, path: Path) -> str:
    """The string inside a type with its own decoding."""
    if type(value) is str:
        return value
    raise DecodeError(type_error(type_name(value), "string", path))


def _raw(value: Any, run: Run, path: Path) -> Any:
    return RawObject(value) if type(value) is dict else value


def _time(value: Any, run: Run, path: Path) -> Any:
    if value is None:
        return None
    try:
        moment = canonical_time(_text(value, path))
    except TimeError as e:
        raise DecodeError(str(e)) from None
    return None if moment == "0001-01-01T00:00:00Z" else moment


def _micro_time(value: Any, run: Run, path: Path) -> Any:
    if value is None:
        return None
    try:
        moment = canonical_micro_time(_text(value, path))
    except TimeError as e:
        raise DecodeError(str(e)) from None
    return None if moment == "0001-01-01T00:00:00.000000Z" else moment


def _duration(value: Any, run: Run, path: Path) -> Any:
    if value is None:
        raise DecodeError('time: invalid duration ""')
    try:
        return format_duration(parse_duration(_text(value, path)))
    except TimeError as e:
        raise DecodeError(str(e)) from None


def _quantity(value: Any, run: Run, path: Path) -> Any:
    if value is None:
        return "0"
    if type(value) is not str:
        value = repr(value) if type(value) in (int, float) else "not a quantity"
    try:
        return canonical_quantity(value)
    except QuantityError as e:
        raise DecodeError(str(e)) from None


def _int_or_string(value: Any, run: Run, path: Path) -> Any:
    if type(value) is str or (type(value) is int and -(2**31) <= value < 2**31):
        return value
    if value is None:
        return 0
    raise DecodeError(type_error(type_name(value, number=True), "int32", path))


def _bytes(value: Any, run: Run, path: Path) -> Any:
    if type(value) is list:
        return _byte_list(value, run, path)
    if type(value) is not str:
        if value is not None:
            run.save(type_error(type_name(value), "[]uint8", path))
        return None
    try:
        return b64encode(decode(value)).decode()
    except CorruptInput as e:
        run.save(str(e))
        return None


def _byte_list(value: list[Any], run: Run, path: Path) -> Any:
    """Go reads a list of small numbers as bytes, too."""
    for i, item in enumerate(value):
        if type(item) is not int or not 0 <= item < 256:
            run.save(type_error(type_name(item, number=True), "uint8", (path, i, None)))
            return None
    return b64encode(bytes(value)).decode()


SPECIAL: dict[str, Decoder] = {
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "microtime": _micro_time,
    "duration": _duration,
    "bytes": _bytes,
    "fields-v1": _fields,
    "raw-extension": _raw,
    "json": _json,
}
