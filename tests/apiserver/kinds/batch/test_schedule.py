from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.batch.indexes import IndexesError, count_indexes
from apiserver.kinds.batch.schedule import ScheduleError, check_schedule


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/5 0-6 1,15 jan-mar mon",
        "@daily",
        "@every 1h30m",
        "0 0 31 12 ?",
        "TZ=UTC 0 0 * * *",
    ],
)
def test_schedules(text: str) -> None:
    check_schedule(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty spec string"),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-2 * * * *", "beginning of range (5) beyond end of range (2): 5-2"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
    ],
)
def test_what_is_no_schedule(text: str, why: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_schedule(text)
    assert str(caught.value) == why


@given(st.sets(st.integers(0, 200), min_size=1))
def test_indexes_are_counted(indexes: set[int]) -> None:
    text = ",".join(map(str, sorted(indexes)))
    assert count_indexes(text, 201) == len(indexes)


def test_index_ranges() -> None:
    assert count_indexes("0-3,7", 10) == 5
    for wrong in ("3,2", "5-4", "x", "0-10", "1-2-3"):
        with pytest.raises(IndexesError):
            count_indexes(wrong, 10)
