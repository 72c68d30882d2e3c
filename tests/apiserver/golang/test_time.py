from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.golang import time


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("90s", "1m30s"),
        ("1.5s", "1.5s"),
        ("100ms", "100ms"),
        ("1h", "1h0m0s"),
        ("1500us", "1.5ms"),
        ("-3m", "-3m0s"),
        ("0", "0s"),
        ("1h0m.5s", "1h0m0.5s"),
    ],
)
def test_durations(text: str, printed: str) -> None:
    assert time.format_duration(time.parse_duration(text)) == printed


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("x", 'time: invalid duration "x"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5 s", 'time: unknown unit " s" in duration "5 s"'),
    ],
)
def test_duration_errors(text: str, error: str) -> None:
    with pytest.raises(time.TimeError) as raised:
        time.parse_duration(text)
    assert str(raised.value) == error


@given(st.integers(-(2**62), 2**62))
def test_printed_durations_read_back(nanoseconds: int) -> None:
    assert time.parse_duration(time.format_duration(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    ("text", "clock", "nanoseconds", "offset"),
    [
        ("2020-02-29T01:02:03Z", "2020-02-29T01:02:03", 0, 0),
        ("2020-02-29T01:02:03.1234567899Z", "2020-02-29T01:02:03", 123456789, 0),
        ("2020-02-29T1:02:03,5-01:30", "2020-02-29T01:02:03", 500000000, -5400),
    ],
)
def test_parts(text: str, clock: str, nanoseconds: int, offset: int) -> None:
    moment, ns, ahead = time.parse_parts(text, time.RFC3339)
    assert (moment.isoformat()[:19], ns, ahead.total_seconds()) == (clock, nanoseconds, offset)


_DIGITS = st.integers(0, 25).map("{:02d}".format)


@given(
    st.tuples(st.sampled_from(["0000", "0001", "2020", "9999"]), *[_DIGITS] * 7),
    st.sampled_from(["", ".5", ".1234567899", ",25", "."]),
    st.sampled_from("Z+-"),
)
def test_the_common_form_is_read_as_every_other(
    numbers: tuple[str, ...], fraction: str, sign: str
) -> None:
    year, month, day, hour, minute, second, hours, minutes = numbers
    zone = sign if sign == "Z" else f"{sign}{hours}:{minutes}"
    text = f"{year}-{month}-{day}T{hour}:{minute}:{second}{fraction}{zone}"
    results = []
    for parse in (time.parse_parts, time._step_by_step):
        try:
            results.append(str(parse(text, time.RFC3339)))
        except time.TimeError as error:
            results.append(str(error))
    assert results[0] == results[1]
