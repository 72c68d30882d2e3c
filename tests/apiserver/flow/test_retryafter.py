"""Seconds that clients are told to stay away (``dropped_requests_tracker.go``)."""

from __future__ import annotations

from apiserver.flow.retryafter import RetryAfter


def test_more_refusals_mean_more_seconds_and_fewer_mean_less() -> None:
    retry = RetryAfter()
    assert retry.seconds == 1
    seen = []
    for second in range(1, 200):
        for _ in range(200):
            retry.dropped(1000.0 + second)
        seen.append(retry.seconds)
    assert seen == sorted(seen)
    assert seen[-1] == 32
    for second in range(300, 2000, 40):
        retry.dropped(1000.0 + second)
    assert retry.seconds == 1


def test_few_refusals_change_nothing() -> None:
    retry = RetryAfter()
    for second in range(100):
        retry.dropped(1000.0 + second)
    assert retry.seconds == 1
