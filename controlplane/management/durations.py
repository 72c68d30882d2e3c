"""Spans of time as commands take them."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SPAN = re.compile(r"(?:[0-9]{1,9}[smhd])+")
_LONGEST = timedelta(days=36_500)


def span_of(text: str) -> timedelta | None:
    """``90s``, ``15m``, ``1h``, ``7d``, or several of them in a row (``1h30m``), a hundred years at
    most; None for what is none."""
    if not _SPAN.fullmatch(text):
        return None
    parts = re.findall(r"([0-9]+)([smhd])", text)
    span = sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())
    return span if span <= _LONGEST else None


def duration(text: str) -> timedelta:
    """For argparse."""
    span = span_of(text)
    if span is None:
        raise ArgumentTypeError(f"{text!r} is no duration; write it like 90s, 15m, 1h or 7d")
    return span
