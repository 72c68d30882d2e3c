"""``encoding/pem``: blocks, as Decode of Go 1.26 finds them."""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"\n-----END ", b"-----"
_NEWLINE = ord("\n")


class Block(NamedTuple):
    """has_headers: lines with a colon before its contents; data: what it holds, decoded; end: where
    the line after it begins."""

    type: bytes
    has_headers: bool
    data: bytes
    end: int


def blocks(data: bytes) -> Iterator[Block]:
    """Each END counts for the last BEGIN before it. Every byte is looked at a few times, however
    many blocks begin and do not end, or end and have not begun."""
    at = 0
    while (end := data.find(_END, at)) >= 0:
        begin = data.rfind(_BEGIN, at, end)
        at, previous = end + len(_END), at
        if begin < 0 or (begin != previous and data[begin - 1] != _NEWLINE):
            continue
        opened, body = _line(data, begin + len(_BEGIN))
        if not opened.endswith(_DASHES):
            continue
        contents = _after_headers(data, body)
        if contents > at:
            return  # they went on behind the END
        block = _block(data, opened, contents > body, data[contents:end], at)
        if block is not None and not (block.has_headers and contents > end):
            yield block
            at = block.end


def _block(
    data: bytes, opened: bytes, has_headers: bool, contents: bytes, trailer: int
) -> Block | None:
    """``trailer``: where the word behind END begins."""
    rest, end = _line(data, trailer + len(opened))
    if not data.startswith(opened, trailer) or rest:
        return None
    try:
        decoded = binascii.a2b_base64(contents.translate(None, b" \t\r\n"), strict_mode=True)
    except binascii.Error:
        return None
    return Block(opened.removesuffix(_DASHES), has_headers, decoded, end)


def _after_headers(data: bytes, at: int) -> int:
    line, after = _line(data, at)
    while b":" in line:
        at = after
        line, after = _line(data, at)
    return at


def _line(data: bytes, at: int) -> tuple[bytes, int]:
    """The line from there on, without what is blank at its end, and where the next one begins."""
    newline = data.find(b"\n", at)
    if newline < 0:
        return data[at:].rstrip(b" \t"), len(data)
    return data[at:newline].removesuffix(b"\r").rstrip(b" \t"), newline + 1
