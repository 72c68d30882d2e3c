"""Amounts of metrics as an update compares them.

Lists of metrics are owned as a whole and compared as Go values (structured-merge-diff
``value/listreflect.go``), in which amounts are pointers. A Go amount remembers its text: at once if
parsing sees that it is canonical, otherwise when it is first written. The stored object has been
written, the new one has not; so an amount whose text parsing does not remember is another one with
every update, and the list changes its owner. Source: k8s.io/apimachinery
``api/resource/quantity.go`` (ParseQuantity).
"""

from __future__ import annotations

import re
from typing import Any

from apiserver.meta.objects import Object

_TEXT = re.compile(r"[+-]?([0-9]+)([KMGTPE]i)?([munkMGTPE]|[eE][+-]?[0-9]+)?")
_DIGITS = 18
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class Unremembered(str):
    """An amount that is not the same as any other."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True


def compared(obj: Object) -> Object:
    """A copy where there is such an amount, else the object itself."""
    new = dict(obj)
    for part, member in (("spec", "metrics"), ("status", "currentMetrics")):
        metrics = (obj.get(part) or {}).get(member)
        if metrics:
            new[part] = {**obj[part], member: [_metric(metric) for metric in metrics]}
    return new


def _metric(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: Unremembered(member)
        if name in ("value", "averageValue") and not is_remembered(member)
        else _metric(member)
        for name, member in value.items()
    }


def is_remembered(amount: str) -> bool:
    """Of a canonical text."""
    match = _TEXT.fullmatch(amount)
    if match is None:
        return False
    number, binary, decimal = match.groups()
    if binary:
        exponent = _BINARY[binary]
        return len(number) + exponent * 3 // 10 < _DIGITS - 3 and int(number) % 8 != 0
    scale = int(decimal[1:]) if decimal and decimal[0] in "eE" and decimal[1:] else 0
    remembered = number[0] != "0" and not number.endswith("000") and scale % 3 == 0
    return amount == "0" or (len(number) <= _DIGITS and remembered)
