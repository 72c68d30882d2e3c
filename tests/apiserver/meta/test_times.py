from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.golang.time import TimeError
from apiserver.meta import times

AS = ' as "2006-01-02T15:04:05Z07:00": cannot parse '


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2020-02-29T01:02:03Z", "2020-02-29T01:02:03Z"),
        ("2020-01-01T00:00:00.999999999Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z"),
        ("0800-01-01T00:00:00Z", "0800-01-01T00:00:00Z"),
    ],
)
def test_times(text: str, canonical: str) -> None:
    assert times.canonical_time(text) == canonical


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("yesterday", f'"yesterday"{AS}"yesterday" as "2006"'),
        ("2020-01-01", f'"2020-01-01"{AS}"" as "T"'),
        ("2020-01-01T00:00:00", f'"2020-01-01T00:00:00"{AS}"" as "Z07:00"'),
        ("2020-13-01T00:00:00Z", '"2020-13-01T00:00:00Z": month out of range'),
        ("2021-02-29T00:00:00Z", '"2021-02-29T00:00:00Z": day out of range'),
        ("2020-01-01T24:00:00Z", '"2020-01-01T24:00:00Z": hour out of range'),
        (
            "2020-01-01T00:00:00+25:00",
            '"2020-01-01T00:00:00+25:00": time zone offset hour out of range',
        ),
        ("2020-01-01T00:00:00Zx", '"2020-01-01T00:00:00Zx": extra text: "x"'),
    ],
)
def test_time_errors(text: str, error: str) -> None:
    with pytest.raises(TimeError) as raised:
        times.parse_time(text)
    assert str(raised.value) == f"parsing time {error}"


def test_micro_times_want_six_digits() -> None:
    assert (
        times.canonical_micro_time("2020-01-01T01:00:00.123456+01:00")
        == "2020-01-01T00:00:00.123456Z"
    )
    with pytest.raises(TimeError, match=r'cannot parse "Z" as "\.000000"$'):
        times.parse_micro_time("2020-01-01T00:00:00Z")


@given(st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)))
def test_printed_times_read_back(moment: datetime) -> None:
    assert times.parse_time(times.format_time(moment)) == moment.replace(microsecond=0)
    assert times.parse_micro_time(times.format_micro_time(moment)) == moment


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (179 * 60, "179m"),
        (180 * 60, "3h"),
        (5 * 3600 + 60, "5h1m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
        (400 * 365 * 86400, "292y"),
    ],
)
def test_ages(seconds: int, shown: str) -> None:
    assert times.human_duration(seconds) == shown
