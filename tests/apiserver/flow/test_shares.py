"""Limits of tenants are exact over the workers of a machine: together they never serve more, and
who dies leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

import pytest

from apiserver.flow.shares import COLUMNS, REQUESTS, SIZE, WATCHES, Shares

OFFSET = 24
_WORKER = """
import sys
from apiserver.flow.shares import Shares
shares = Shares(int(sys.argv[1]), int(sys.argv[2]))
held = []
for line in sys.stdin:
    what, _, argument = line.strip().partition(" ")
    if what == "take":
        taken = shares.take(int(argument), 0, 5)
        held += [taken] if taken is not None else []
        print(int(taken is not None), flush=True)
    elif what == "give":
        shares.give_back(held.pop())
        print(len(held), flush=True)
    elif what == "race":
        most = 0
        for _ in range(20000):
            taken = shares.take(int(argument), 0, 5)
            most = max(most, shares.served(int(argument), 0) if taken else 0)
            if taken:
                shares.give_back(taken)
        print(most, flush=True)
"""


class Worker:
    def __init__(self, fd: int) -> None:
        command = [sys.executable, "-c", _WORKER, str(fd), str(OFFSET)]
        self.process = subprocess.Popen(
            command, pass_fds=[fd], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def ask(self, line: str) -> int:
        self.say(line)
        return self.hear()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def file() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as made:
        made.write(bytes(OFFSET + SIZE))
        made.flush()
        yield made


@pytest.fixture
def workers(file: IO[bytes]) -> Iterator[list[Worker]]:
    made = [Worker(file.fileno()) for _ in range(3)]
    yield made
    for worker in made:
        worker.end()


def test_workers_count_together(workers: list[Worker]) -> None:
    one, two, three = workers
    assert [worker.ask("take 7") for worker in (one, two, three, one, two, three)] == [
        1,
        1,
        1,
        1,
        1,
        0,
    ]
    assert one.ask("take 8") == 1  # another tenant
    assert two.ask("give") == 1
    assert [three.ask("take 7"), one.ask("take 7")] == [1, 0]


def test_a_dead_worker_leaves_nothing_to_its_successor(
    file: IO[bytes], workers: list[Worker]
) -> None:
    assert [workers[0].ask("take 7") for _ in range(6)] == [1, 1, 1, 1, 1, 0]
    assert workers[1].ask("take 7") == 0
    workers[0].end()
    workers[0] = Worker(file.fileno())
    assert workers[0].ask("take 9") == 1
    assert [workers[1].ask("take 7") for _ in range(6)] == [1, 1, 1, 1, 1, 0]


def test_workers_that_take_at_once_never_have_too_much(workers: list[Worker]) -> None:
    assert [workers[0].ask("take 7") for _ in range(4)] == [1] * 4  # one place is left
    for worker in workers:
        worker.say("race 7")
    # who has taken may see others that try, and will be refused, counted with it
    assert all(worker.hear() <= 4 + len(workers) for worker in workers)
    assert [workers[1].ask("take 7"), workers[2].ask("take 7")] == [1, 0]


def test_kinds_are_counted_apart() -> None:
    shares = Shares()
    taken = shares.take(1, REQUESTS, 1)
    assert (
        taken is not None
        and shares.take(1, REQUESTS, 1) is None
        and shares.take(1, WATCHES, 1) is not None
    )
    shares.give_back(taken)
    assert (shares.served(1, REQUESTS), shares.served(1, WATCHES)) == (0, 1)


def test_tenants_whose_row_is_the_same_do_not_count_for_each_other() -> None:
    shares, other = Shares(), 1 + 4096
    first = shares.take(1, REQUESTS, 1)
    assert first is not None
    alone = shares.take(other, REQUESTS, 1)
    assert alone is not None and shares.take(other, REQUESTS, 1) is None
    shares.give_back(alone)
    shares.give_back(first)
    again = shares.take(other, REQUESTS, 1)  # the row is free
    assert isinstance(again, int) and isinstance(alone, tuple) and shares.served(1, REQUESTS) == 0
    assert shares.take(0x7FFF_FFFF, REQUESTS, 0) is None


def test_more_workers_than_columns_count_alone(file: IO[bytes]) -> None:
    shares = Shares(file.fileno(), OFFSET)
    shares._column = None
    assert [shares.take(3, REQUESTS, 2) is not None for _ in range(3)] == [True, True, False]
    assert COLUMNS >= 64
