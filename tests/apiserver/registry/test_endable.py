"""Work in a thread can be ended, whatever it does in Python, and says so once and always."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from apiserver.registry.endable import EndableThread, Ended
from tests.support.waiting import PATIENCE


class Run:
    """A thread at work; ``outcome`` waits for its end."""

    def __init__(self, work: Any) -> None:
        self.told: list[tuple[Any, BaseException | None]] = []
        self._over = threading.Event()
        self.thread = EndableThread(work, self._tell)
        self.thread.start()

    def _tell(self, result: Any, error: BaseException | None) -> None:
        self.told.append((result, error))
        self._over.set()

    def outcome(self, *, ending: bool = False) -> tuple[Any, BaseException | None]:
        deadline = time.monotonic() + PATIENCE
        while not self._over.wait(0.01):
            assert time.monotonic() < deadline, "it did not end"
            if ending:
                self.thread.end()
        assert len(self.told) == 1
        return self.told[0]


def test_results_and_errors_come_back() -> None:
    assert Run(lambda: 7).outcome() == (7, None)
    result, error = Run(lambda: [].pop()).outcome()
    assert result is None and isinstance(error, IndexError)


def _loops() -> None:
    while True:
        pass


def _catches() -> None:
    while True:
        try:
            sum(range(100))
        except Exception:  # as careless code does
            continue


def _cleans_up() -> None:
    try:
        _loops()
    finally:
        sum(range(1000))


class _Swallows:
    """Python prints what a finalizer raises, and goes on."""

    def __del__(self) -> None:
        for _ in range(10_000):
            pass


def _swallows() -> None:
    while True:
        _Swallows()


def _recurses() -> None:
    try:
        _recurses()
    except RecursionError:
        _loops()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("work", [_loops, _catches, _cleans_up, _swallows, _recurses])
def test_whatever_loops_is_ended(work: Any) -> None:
    run = Run(work)
    result, error = run.outcome(ending=True)
    assert result is None and isinstance(error, Ended)


def test_locks_are_released() -> None:
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                sum(range(100))

    for _ in range(20):
        Run(work).outcome(ending=True)
        assert lock.acquire(timeout=PATIENCE)
        lock.release()


def test_an_end_that_comes_at_any_moment_is_told_once() -> None:
    """The thread is asked to end while it ends by itself."""
    for turns in range(0, 4000, 40):
        run = Run(lambda turns=turns: sum(range(turns)))
        for _ in range(turns // 100):
            pass
        run.thread.end()
        result, error = run.outcome(ending=True)
        assert (result == sum(range(turns)) and error is None) or (
            result is None and isinstance(error, Ended)
        )


def test_work_that_is_ended_before_it_begins_is_never_begun_and_all_the_same_told() -> None:
    begun: list[int] = []
    for _ in range(200):
        thread_is_new = Run(lambda: begun.append(1) or _loops())
        thread_is_new.thread.end()
        result, error = thread_is_new.outcome(ending=True)
        assert result is None and isinstance(error, Ended)


def test_being_asked_by_many_at_once_ends_it_once() -> None:
    """Threads that ask all the time, while it is ended and deals with it."""
    stop = threading.Event()
    runs = [Run(_loops) for _ in range(30)]

    def ask() -> None:
        while not stop.is_set():
            for run in runs:
                run.thread.end()

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        assert {type(run.outcome()[1]) for run in runs} == {Ended}
    finally:
        stop.set()
        for asker in askers:
            asker.join()


def test_its_processor_time_is_its_own() -> None:
    begun, finish = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        finish.wait()

    idle = Run(work)
    begun.wait()
    busy = Run(lambda: sum(range(3_000_000)))
    busy.outcome()
    assert idle.thread.seconds() < busy.thread.seconds()
    finish.set()
    idle.outcome()
