"""One scrape for all workers: sums, workers that are gone, and those that do not answer."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiserver.endpoints import metric_peers
from apiserver.endpoints.metric_peers import Peers
from apiserver.endpoints.metric_types import Chosen, Counter, Gauge, Histogram, Known, Metrics


class Worker:
    """As one process has it."""

    def __init__(self, directory: Path, name: str) -> None:
        self.metrics = Metrics()
        self.requests = self.metrics.add(Counter("requests_total", "", ("verb",)))
        self.took = self.metrics.add(Histogram("took_seconds", "", (), (1.0, 2.0)))
        self.open = self.metrics.add(Gauge("open", ""))
        self.objects = self.metrics.add(Known("objects", ""))
        self.objects.set((), 7)
        self.passed = self.metrics.add(Chosen("passed", "", (), max))
        self.began = self.metrics.add(Chosen("began", "", (), min))
        self.peers = Peers(directory, lambda number: self.metrics.snapshot())
        self.peers._name = name

    async def scrape(self) -> dict[str, float]:
        own, others = await self.peers.counted(0)
        text = b"".join(self.metrics.expose(others, own)).decode()
        return {k: float(v) for k, v in re.findall(r"^([^#\s]+) (\S+)$", text, re.M)}

    def die(self) -> None:
        """As by SIGKILL: the socket stays, and nobody listens."""
        assert self.peers._server is not None
        self.peers._server.close()


@pytest.fixture
async def directory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    yield tmp_path_factory.mktemp("m")
    for worker in _started:
        worker.die()
    _started.clear()


_started: list[Worker] = []


async def three(directory: Path) -> tuple[Worker, Worker, Worker]:
    workers = Worker(directory, "w1"), Worker(directory, "w2"), Worker(directory, "w3")
    _started.extend(workers)
    for i, worker in enumerate(workers):
        await worker.peers.start()
        worker.requests.add(("GET",), 10**i)
        worker.took.observe((), i)
        worker.open.add((), 1)
    return workers


async def test_each_worker_tells_of_all(directory: Path) -> None:
    workers = await three(directory)
    assert len(workers) == 3
    for worker in workers:
        told = await worker.scrape()
        assert told['requests_total{verb="GET"}'] == 111
        assert (told["took_seconds_count"], told["took_seconds_sum"]) == (3, 3)
        assert told['took_seconds_bucket{le="1"}'] == 2
        assert (told["open"], told["objects"]) == (3, 7)


async def test_the_cell_of_one_worker_may_stand_for_all(directory: Path) -> None:
    workers = one, two, three_ = await three(directory)
    one.passed.values[()], two.passed.values[()] = [4.0, 1.0], [5.0, 0.0]
    two.began.values[()], three_.began.values[()] = [9.0], [8.0]
    for worker in workers:
        told = await worker.scrape()
        assert (told["passed"], told["began"]) == (0, 8)
    two.die()
    assert (await one.scrape())["passed"] == 1, "the last of those that are left"


async def test_what_was_shown_of_a_dead_worker_stays(directory: Path) -> None:
    one, two, three_ = await three(directory)
    await one.scrape()
    three_.die()
    for _ in range(3):
        assert (await one.scrape())['requests_total{verb="GET"}'] == 111
        assert (await two.scrape())['requests_total{verb="GET"}'] == 111
    two.die()
    told = await one.scrape()
    assert (told['requests_total{verb="GET"}'], told["took_seconds_count"]) == (111, 3)
    assert told["open"] == 1, "what is open went with those who had it open"


async def test_no_more_is_shown_than_what_outlives_the_worker(directory: Path) -> None:
    """An answer is made and sent in parts, while counting goes on."""
    one, two, _ = await three(directory)
    own, others = await one.peers.counted(0)
    one.requests.add(("GET",), 500)
    one.took.observe((), 9.0)
    text = b"".join(one.metrics.expose(others, own)).decode()
    assert 'requests_total{verb="GET"} 111\n' in text and "took_seconds_sum 3\n" in text
    one.die()
    told = await two.scrape()
    assert (told['requests_total{verb="GET"}'], told["took_seconds_sum"]) == (111, 3)


async def test_what_a_worker_counted_until_it_was_stopped_stays(directory: Path) -> None:
    one, two, _ = await three(directory)
    await one.scrape()
    two.requests.add(("GET",), 1000)
    await two.peers.stop()
    assert (await one.scrape())['requests_total{verb="GET"}'] == 1111


async def test_a_worker_that_hangs_counts_with_what_it_told_last(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, _ = await three(directory)
    await one.scrape()
    monkeypatch.setattr(metric_peers, "_TIMEOUT", 0.2)
    two.die()
    (directory / "w2.sock").unlink(missing_ok=True)

    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(directory / "w2.sock"))
        silent.listen()
        for _ in range(2):
            assert (await one.scrape())['requests_total{verb="GET"}'] == 111


async def test_sums_are_the_same_whoever_is_asked_and_whoever_dies(directory: Path) -> None:
    """Of binary fractions (0.1 + 0.2) + 0.3 is more than 0.1 + (0.2 + 0.3), and what is rounded on
    the way depends on the way: a sum that falls would be a counter that began anew."""
    workers = await three(directory)
    for worker, times in zip(workers, ((0.1, 2e-7), (0.2, 2e-7), (0.3, 4e-7)), strict=True):
        worker.took.values.clear()
        for seconds in times:
            worker.took.observe((), seconds)
    told = [(await worker.scrape())["took_seconds_sum"] for worker in workers]
    for dying in (2, 1):
        workers[dying].die()
        told += [(await worker.scrape())["took_seconds_sum"] for worker in workers[:dying]]
    assert told == [0.6] * len(told)


async def test_a_worker_with_the_process_id_of_a_dead_one_is_another(directory: Path) -> None:
    one, two, _ = await three(directory)
    for number, counted in enumerate((1, 2, 4), 1):
        await one.scrape()
        two.die()
        two = Worker(directory, "w2")  # before anybody has looked at what its namesake left
        _started.append(two)
        await two.peers.start()
        two.requests.add(("GET",), counted * 1000)
        total = 111 + 1000 * (2**number - 1)
        assert (await one.scrape())['requests_total{verb="GET"}'] == total
    two.die()
    assert (await one.scrape())['requests_total{verb="GET"}'] == 7111


async def test_a_process_id_that_comes_again_later_is_another_worker(directory: Path) -> None:
    one, two, _ = await three(directory)
    await one.scrape()
    for number in (1, 2, 3):
        two.die()
        assert (await one.scrape())['requests_total{verb="GET"}'] == 111 + 1000 * (number - 1)
        two = Worker(directory, "w2")
        _started.append(two)
        await two.peers.start()
        two.requests.add(("GET",), 1000)
        assert (await one.scrape())['requests_total{verb="GET"}'] == 111 + 1000 * number
