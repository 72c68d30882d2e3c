from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.golang import strconv
from apiserver.golang.strconv import go_quote


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a b", '"a b"'),
        ('a"\\', r'"a\"\\"'),
        ("\n\x00ä", r'"\n\x00ä"'),
        ("\u200b", r'"\u200b"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_go_quotes(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


@pytest.mark.parametrize(
    ("parse", "text", "error"),
    [
        (strconv.parse_int, "", 'strconv.ParseInt: parsing "": invalid syntax'),
        (strconv.parse_int, "--1", 'strconv.ParseInt: parsing "--1": invalid syntax'),
        (strconv.parse_int, "9223372036854775808", "value out of range"),
        (strconv.parse_uint, "-1", 'strconv.ParseUint: parsing "-1": invalid syntax'),
        (strconv.parse_uint, "18446744073709551616", "value out of range"),
        (strconv.atoi, 'a"b', r'strconv.Atoi: parsing "a\"b": invalid syntax'),
        (strconv.parse_bool, "yes", 'strconv.ParseBool: parsing "yes": invalid syntax'),
        (strconv.parse_float, "1e400", 'strconv.ParseFloat: parsing "1e400": value out of range'),
        (strconv.parse_float, "1_0", 'strconv.ParseFloat: parsing "1_0": invalid syntax'),
        (strconv.parse_float, ".", 'strconv.ParseFloat: parsing ".": invalid syntax'),
    ],
)
def test_what_does_not_parse(parse: Callable[[str], object], text: str, error: str) -> None:
    with pytest.raises(strconv.NumError) as raised:
        parse(text)
    assert str(raised.value).endswith(error)


def test_what_parses() -> None:
    assert strconv.parse_int("-9223372036854775808") == -(2**63)
    assert strconv.parse_uint("18446744073709551615") == 2**64 - 1
    assert strconv.atoi("+007") == 7
    assert [strconv.parse_bool(text) for text in ("T", "0")] == [True, False]
    assert strconv.parse_float("-Inf") == float("-inf")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (0.0001, "0.0001"),
        (0.00001234, "1.234e-05"),
        (-1.5e300, "-1.5e+300"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Inf"),
    ],
)
def test_floats(number: float, text: str) -> None:
    assert strconv.format_float(number) == text


@given(st.floats(allow_nan=False))
def test_printed_floats_read_back(number: float) -> None:
    assert strconv.parse_float(strconv.format_float(number)) == number
