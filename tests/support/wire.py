"""Protobuf, read without knowing the message."""

from __future__ import annotations

from typing import Any


def wire(data: bytes) -> dict[int, list[Any]]:
    """Fields of a protobuf message by their number: numbers and bytes, nothing interpreted."""
    fields: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            fields.setdefault(tag >> 3, []).append(varint())
        elif tag & 7 == 1:
            fields.setdefault(tag >> 3, []).append(data[at : at + 8])
            at += 8
        else:
            assert tag & 7 == 2
            size = varint()
            fields.setdefault(tag >> 3, []).append(data[at : at + size])
            at += size
    return fields
