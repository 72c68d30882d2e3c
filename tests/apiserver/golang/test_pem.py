from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from apiserver.golang import pem


def block(kind: str = "X", contents: bytes = b"abc", headers: str = "") -> bytes:
    return (
        f"-----BEGIN {kind}-----\n{headers}{b64encode(contents).decode()}\n-----END {kind}-----\n"
    ).encode()


ONE, TWO = block("X", b"one"), block("Y Z", b"two")
EMPTY = b"-----BEGIN X-----\n-----END X-----\n"


def found(data: bytes) -> list[tuple[bytes, bytes]]:
    return [(b.type, b.data) for b in pem.blocks(data)]


@pytest.mark.parametrize(
    "data",
    [
        ONE,
        ONE.strip(),
        b"text\n" + ONE + b"more text",
        ONE.replace(b"\n", b" \t\r\n"),
        ONE.replace(b"b25l", b" b2\r\n\t5l "),
        b"-----BEGIN X\n" + ONE,  # its line does not end with dashes
        b"-----BEGIN Y-----\n" * 3 + ONE,  # the last BEGIN before an END is its own
        b"-----BEGIN Y-----\n-----END X-----\n" + ONE,
        b"\n-----END X-----\n" + ONE,
        block("X", b"").replace(b"\n\n", b"\n!\n") + ONE,  # no base64
        ONE.replace(b"b25l", b"b25=l") + ONE,
        ONE.replace(b"b25l", b"b25") + ONE,
        ONE.replace(b"END X-----", b"END X----- more") + ONE,
    ],
)
def test_one_block_is_found(data: bytes) -> None:
    assert found(data) == [(b"X", b"one")]


@pytest.mark.parametrize(
    "data",
    [b"", b"text", b"text" + ONE, ONE[:-7], ONE.replace(b"END", b"ENDE"), ONE.replace(b"\n", b" ")],
)
def test_none_is_found(data: bytes) -> None:
    assert found(data) == []


def test_several_are_found_in_their_order_each_with_its_end() -> None:
    blocks = list(pem.blocks(ONE + b"text\n" + TWO + EMPTY))
    assert [(b.type, b.data) for b in blocks] == [(b"X", b"one"), (b"Y Z", b"two"), (b"X", b"")]
    ends = [b.end for b in blocks]
    assert ends == [len(ONE), len(ONE + TWO) + 5, len(ONE + TWO + EMPTY) + 5]


def test_headers_are_told_from_contents() -> None:
    headed = block(headers="Proc-Type: 4,ENCRYPTED\nA:\n\n")
    (only,) = pem.blocks(headed)
    assert only.has_headers and only.data == b"abc"
    assert not next(pem.blocks(ONE)).has_headers
    # headers want a line between them and the END
    assert found(b"-----BEGIN X-----\nA: b\n-----END X-----\n" + ONE) == [(b"X", b"one")]
    # what begins behind the END cannot be told from more headers
    assert found(EMPTY.replace(b"X", b"A:B") + ONE) == []


class Counted(bytes):
    """Counts the bytes that a search may look at."""

    looked = 0

    def find(self, *args: Any) -> int:
        at = super().find(*args)
        type(self).looked += (len(self) if at < 0 else at) - args[1]
        return at

    def rfind(self, *args: Any) -> int:
        at = super().rfind(*args)
        type(self).looked += args[2] - max(at, args[1])
        return at


@pytest.mark.parametrize(
    "line",
    [
        b"-----BEGIN X-----\n",
        b"-----END X-----\n",
        b"-----BEGIN X-----\n-----END Y-----\n",
        b"-----BEGIN A:-----\n-----END A:-----\n",
        b"-----BEGIN X-----\nA: b\n",
        EMPTY,
    ],
)
@pytest.mark.parametrize("last", [b"", b"\n-----END X-----\n"])
def test_a_megabyte_of_lines_is_read_a_few_times_over(line: bytes, last: bytes) -> None:
    """A search for each of the lines would go through all that follow."""
    many = Counted(line * (2**20 // len(line)) + last)
    Counted.looked = 0
    list(pem.blocks(many))
    assert 0 < Counted.looked < 6 * len(many)
