"""PEM blocks as Go's encoding/pem finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"


class Block(NamedTuple):
    """body: what stands between its first and its last line; text: with them."""

    type: bytes
    body: bytes
    text: bytes


def blocks(data: bytes) -> Iterator[Block]:
    """Those that are closed by what they are opened by, before anything else ends (Go's
    encoding/pem). Every byte is looked at a few times, however many blocks begin and do not end."""
    at = 0
    while (begin := _line(data, _BEGIN, at)) >= 0 and (first := data.find(b"\n", begin)) >= 0:
        opened, at = data[begin + len(_BEGIN) : first].rstrip(b" \t\r"), first
        if not opened.endswith(_DASHES):
            continue
        if (end := _line(data, _END, first)) < 0:
            return
        at = end + len(_END)
        last = data.find(b"\n", at)
        last = len(data) if last < 0 else last
        if data[at:last].rstrip(b" \t\r") == opened:
            kind = opened.removesuffix(_DASHES)
            yield Block(kind, data[first + 1 : end], data[begin:last])


def _line(data: bytes, mark: bytes, at: int) -> int:
    """Where a line begins with the mark, from ``at`` on; -1 where none does."""
    if at == 0 and data.startswith(mark):
        return 0
    return data.find(b"\n" + mark, at) + 1 or -1
