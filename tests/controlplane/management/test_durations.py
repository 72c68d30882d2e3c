from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import timedelta

import pytest

from controlplane.management.durations import duration, span_of


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("0s", timedelta()),
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("1h30m", timedelta(minutes=90)),
        ("7d", timedelta(days=7)),
        ("36500d", timedelta(days=36_500)),
    ],
)
def test_spans(text: str, span: timedelta) -> None:
    assert span_of(text) == duration(text) == span


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "d",
        "-1d",
        "1.5h",
        "7 d",
        "1w",
        "7D",
        "\u0667d",
        "36501d",
        "999999999d",
        "9" * 5000 + "d",
    ],
)
def test_what_is_none(text: str) -> None:
    assert span_of(text) is None
    with pytest.raises(ArgumentTypeError, match="is no duration; write it like"):
        duration(text)
