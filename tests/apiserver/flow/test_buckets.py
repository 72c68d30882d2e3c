from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Iterator

import pytest

from apiserver.flow import buckets
from apiserver.flow.buckets import KINDS, SIZE, Buckets
from tests.support.waiting import PATIENCE


@pytest.fixture
def shared() -> Iterator[int]:
    """A file as `up` shares it: what another one has in it stands before the buckets."""
    with tempfile.TemporaryFile() as file:
        file.truncate(4096 + SIZE)
        yield file.fileno()


def drawn(of: Buckets, key: str, now: float, rate: float = 1, size: int = 3) -> int:
    count = 0
    while of.take(0, key, rate, size, now):
        count += 1
    return count


def test_a_bucket_gives_what_it_holds_and_fills_again() -> None:
    of = Buckets()
    assert drawn(of, "a", 100.0) == 3
    assert drawn(of, "a", 101.0) == 1
    assert drawn(of, "a", 101.5) == 0
    assert drawn(of, "a", 103.0) == 2
    assert drawn(of, "a", 1000.0) == 3
    of.close()


@pytest.mark.parametrize(("rate", "size"), [(1, 1), (3, 7), (50, 100), (10_000, 50_000)])
def test_sums_of_fractions_lose_no_token(rate: int, size: int) -> None:
    of = Buckets()
    assert drawn(of, "a", 12345.678, rate, size) == size
    of.close()


def test_a_large_draw_takes_as_many_tokens_or_none_and_a_full_bucket_is_enough_for_any() -> None:
    of = Buckets()
    assert [of.take(0, "a", 1, 3, 9.0, cost=2) for _ in range(2)] == [True, False]
    assert drawn(of, "a", 9.0) == 1, "what is refused costs nothing"
    assert of.take(0, "b", 1, 3, 9.0, cost=2**30)
    assert drawn(of, "b", 11.0) == 2
    of.close()


def test_a_flood_that_lasts_gets_what_comes_back() -> None:
    of = Buckets()
    assert drawn(of, "a", 100.0, 2, 5) == 5
    assert sum(of.take(0, "a", 2, 5, 100 + n / 100) for n in range(1, 1001)) == 20
    of.close()


def test_keys_and_kinds_have_buckets_of_their_own() -> None:
    of = Buckets()
    assert [drawn(of, key, 1.0) for key in ("a", "b")] == [3, 3]
    assert [of.take(kind, "a", 1, 1, 1.0) for kind in range(KINDS)] == [False, True, True, True]
    of.close()


def test_a_full_bucket_gives_its_place_away_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_SETS", 1)
    of = Buckets()
    keys = [str(n) for n in range(8)]
    assert all(drawn(of, key, 100.0) == 3 for key in keys)
    assert drawn(of, "0", 101.0) == 1  # it is full last
    assert drawn(of, "new", 102.9) == 3  # in the place of one that is nearly full
    assert drawn(of, "0", 102.9) == 1
    of.close()


def test_two_handles_draw_from_one_bucket(shared: int) -> None:
    one, other = Buckets(shared, 4096), Buckets(shared, 4096)
    assert one.take(0, "a", 1, 2, 5.0)
    assert other.take(0, "a", 1, 2, 5.0)
    assert not one.take(0, "a", 1, 2, 5.0)
    assert os.pread(shared, 4096, 0) == bytes(4096)
    one.close()
    other.close()


def _draw(fd: int, answers: multiprocessing.Queue[int]) -> None:
    of = Buckets(fd, 4096)
    answers.put(sum(of.take(0, "a", 1e-9, 1000, 5.0) for _ in range(800)))
    of.close()


def test_workers_together_draw_no_token_twice(shared: int) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    workers = [context.Process(target=_draw, args=(shared, answers)) for _ in range(3)]
    for worker in workers:
        worker.start()
    assert sum(answers.get(timeout=PATIENCE) for _ in workers) == 1000
    for worker in workers:
        worker.join(PATIENCE)
    answers.close()
