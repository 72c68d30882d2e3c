"""Go's package ``encoding/base64``: what it reads, and where it stops."""

from __future__ import annotations

import base64
import re

_STANDARD = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ALPHANUMERIC = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_NEWLINES = b"\r\n"


class CorruptInput(ValueError):
    """The text is Go's CorruptInputError."""

    def __init__(self, at: int) -> None:
        super().__init__(f"illegal base64 data at input byte {at}")


def decode(text: str) -> bytes:
    """StdEncoding: padded, newlines anywhere. Raises CorruptInput."""
    plain = text.replace("\r", "").replace("\n", "")
    if not _STANDARD.fullmatch(plain):
        raise CorruptInput(_fault(text.encode(), b"+/", padded=True))
    return base64.b64decode(plain)


def decode_raw_url(text: str) -> bytes:
    """RawURLEncoding: without padding, newlines anywhere. Raises CorruptInput."""
    data = text.encode(errors="replace")
    plain = data.translate(None, _NEWLINES)
    if len(plain) % 4 == 1 or plain.translate(None, _ALPHANUMERIC + b"-_"):
        raise CorruptInput(_fault(data, b"-_", padded=False))
    return base64.urlsafe_b64decode(plain + b"=" * (-len(plain) % 4))


def _fault(value: bytes, others: bytes, *, padded: bool) -> int:
    """The offset that the decoder complains about in what is no base64. ``others``: the alphabet's
    last two."""
    count = 0
    for i, c in enumerate(value):
        if c in _NEWLINES:
            continue
        if c == ord("=") and padded:
            return _padding_fault(value, i, count % 4)
        if c not in _ALPHANUMERIC and c not in others:
            return i
        count += 1
    return len(value) - count % 4


def _padding_fault(value: bytes, at: int, used: int) -> int:
    """``at``: the first ``=``; ``used``: characters of the last group before it. A lone second
    ``=`` is missed one byte early."""
    rest = [i for i, c in enumerate(value[at + 1 :], at + 1) if c not in _NEWLINES]
    if used < 2:
        return at
    if used == 2:
        if not rest:
            return len(value)
        if value[rest[0]] != ord("="):
            return rest[0] - 1
        rest = rest[1:]
    return rest[0] if rest else at
