"""Work in a thread can be ended, whatever it does in Python, and says so once and always."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from contextvars import ContextVar
from typing import Any

import pytest

from apiserver.registry.endable import EndableWork, Ended
from tests.support.waiting import PATIENCE


class Run:
    """Work in a thread; ``outcome`` waits for its end."""

    def __init__(self, work: Any) -> None:
        self.told: list[tuple[Any, BaseException | None]] = []
        self._over = threading.Event()
        self.work = EndableWork(work, self._tell)
        self.work.start()

    def _tell(self, result: Any, error: BaseException | None) -> None:
        self.told.append((result, error))
        self._over.set()

    def outcome(self, *, ending: bool = False) -> tuple[Any, BaseException | None]:
        deadline = time.monotonic() + PATIENCE
        while not self._over.wait(0.01):
            assert time.monotonic() < deadline, "it did not end"
            if ending:
                self.work.end()
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
        run.work.end()
        result, error = run.outcome(ending=True)
        assert (result == sum(range(turns)) and error is None) or (
            result is None and isinstance(error, Ended)
        )


def test_work_that_is_ended_before_it_begins_is_never_begun_and_all_the_same_told() -> None:
    begun: list[int] = []
    for _ in range(200):
        waiting = Run(lambda: begun.append(1) or _loops())
        waiting.work.end()
        result, error = waiting.outcome(ending=True)
        assert result is None and isinstance(error, Ended)


def test_being_asked_by_many_at_once_ends_it_once() -> None:
    """Threads that ask all the time, while it is ended and deals with it."""
    stop = threading.Event()
    runs = [Run(_loops) for _ in range(30)]

    def ask() -> None:
        while not stop.is_set():
            for run in runs:
                run.work.end()

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
    assert idle.work.seconds() < busy.work.seconds()
    finish.set()
    idle.outcome()


def test_threads_are_kept_and_what_one_work_leaves_does_not_reach_the_next() -> None:
    left: ContextVar[str] = ContextVar("left", default="nothing")

    def work() -> tuple[int, str]:
        before = left.get()
        left.set("something")
        return threading.get_ident(), before

    Run(work).outcome()
    before = threading.active_count()
    outcomes = [Run(work).outcome() for _ in range(50)]
    assert threading.active_count() == before
    assert {result[1] for result, _ in outcomes} == {"nothing"}


def test_a_thread_takes_more_as_soon_as_it_is_told_that_work_is_over() -> None:
    """Whoever hears of an end begins the next at once, in that very moment."""
    count, done = [0], threading.Event()

    def over(*_: Any) -> None:
        count[0] += 1
        if count[0] == 100:
            done.set()
        else:
            EndableWork(lambda: None, over).start()

    Run(lambda: None).outcome()
    before = threading.active_count()
    EndableWork(lambda: None, over).start()
    assert done.wait(PATIENCE)
    assert threading.active_count() == before


def test_processor_time_of_what_a_thread_did_before_does_not_count() -> None:
    Run(lambda: sum(range(3_000_000))).outcome()
    begun, finish = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        finish.wait()

    run = Run(work)
    begun.wait()
    spent = run.work.seconds()
    finish.set()
    run.outcome()
    assert spent < 0.01
    assert run.work.seconds() < 0.01


def test_nothing_of_a_work_stays_in_its_thread() -> None:
    class Held:
        pass

    def hold() -> weakref.ref[Held]:
        held = Held()
        Run(lambda: held and None).outcome()
        return weakref.ref(held)

    blocked = threading.Event()
    busy = [Run(blocked.wait) for _ in range(3)]  # so that there is a thread that is new
    refs = [hold() for _ in range(3)]
    blocked.set()
    for run in busy:
        run.outcome()
    deadline = time.monotonic() + PATIENCE
    while any(ref() is not None for ref in refs):
        gc.collect()
        assert time.monotonic() < deadline
        time.sleep(0.01)
