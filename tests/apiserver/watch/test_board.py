"""The board that workers share: what one tells, the others know before they answer."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.storage.errors import TooLarge, Unavailable
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import watches as watches_module
from apiserver.watch.board import FILE_SIZE, Board, decides, last_deciding, shared_file
from apiserver.watch.tail import Tail
from apiserver.watch.watches import Watches
from tests.support.storage import create, index
from tests.support.waiting import PATIENCE

NAMESPACES, PODS = GroupResource("", "namespaces"), GroupResource("", "pods")


@pytest.fixture
def file() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as made:
        made.truncate(FILE_SIZE)
        yield made


def test_what_one_worker_tells_another_reads(file: IO[bytes]) -> None:
    one, other = Board(file.fileno()), Board(file.fileno())
    assert other.told(7) == 0
    one.tell(7, 12)
    one.tell(7, 11)
    assert other.told(7) == 12
    one.close()
    other.close()


def test_what_workers_tell_at_one_moment_never_goes_back(file: IO[bytes]) -> None:
    script = (
        "import sys\nfrom apiserver.watch.board import Board\nboard, first = "
        "Board(int(sys.argv[1])), int(sys.argv[2])\n"
        "for version in range(first, 40001, 2):\n    board.tell(7, version)\n    assert "
        "board.told(7) >= version\n"
    )
    command = [sys.executable, "-c", script, str(file.fileno())]
    workers = [
        subprocess.Popen([*command, first], pass_fds=[file.fileno()]) for first in ("1", "2")
    ]
    board, last = Board(file.fileno()), 0
    while any(worker.poll() is None for worker in workers):
        told = board.told(7)
        assert told >= last
        last = told
    board.close()
    assert [worker.wait() for worker in workers] == [0, 0]


def test_a_slot_that_another_tenant_took_says_nothing(file: IO[bytes]) -> None:
    board = Board(file.fileno())
    board.tell(7, 12)
    board.tell(7 + 4096, 3)
    assert (board.told(7), board.told(7 + 4096)) == (0, 3)
    board.close()


def test_only_a_board_is_taken_for_one(file: IO[bytes]) -> None:
    board = Board.inherited(shared_file(str(file.fileno())))
    assert board is not None
    board.close()
    with tempfile.TemporaryFile() as empty:
        assert shared_file(str(empty.fileno())) is None
    assert shared_file("") is None
    assert shared_file("none") is None
    assert Board.inherited(None) is None


def test_what_decides_about_requests() -> None:
    assert decides(NAMESPACES)
    assert decides(GroupResource("rbac.authorization.k8s.io", "roles"))
    assert decides(GroupResource("scheduling.k8s.io", "priorityclasses"))
    assert not decides(PODS)
    assert not decides(GroupResource("example.com", "namespaces"))
    assert last_deciding([(NAMESPACES, 3), (PODS, 4)]) == 3
    assert last_deciding([(PODS, 4)]) == 0


async def test_a_request_knows_what_another_worker_answered_before(
    file: IO[bytes], store: PostgresStore, elsewhere: PostgresStore, tenant: int
) -> None:
    board = Board(file.fileno())
    here, there = Watches(store, index, board=board), Watches(elsewhere, index, board=board)
    cache = await here.cache(tenant, NAMESPACES)
    for i in range(10):
        name = ObjectKey(*NAMESPACES, "", f"n{i}")
        version = await elsewhere.write(tenant, create(name))
        assert board.told(tenant) == version
        await here.heard(tenant)
        assert cache.get(name) is not None
    await here.stop()
    await there.stop()
    board.close()


async def test_nobody_waits_long_for_a_version_that_never_comes(
    file: IO[bytes], store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches_module, "HEARING", 0.01)
    board = Board(file.fileno())
    watches = Watches(store, index, board=board)
    await watches.cache(tenant, NAMESPACES)
    board.tell(tenant, 10**6)
    await watches.heard(tenant)
    monkeypatch.setattr(watches_module, "HEARING", 3600.0)
    async with asyncio.timeout(PATIENCE):
        await watches.heard(tenant)  # nor twice
    await watches.stop()
    board.close()


async def test_a_log_that_cannot_be_read_is_no_version_of_the_future(
    store: PostgresStore, elsewhere: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_large(*_: object, **__: object) -> None:
        raise TooLarge(1)

    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Tail, "reach", too_large)
    monkeypatch.setattr(store, "events", never)
    watches = Watches(store, index)
    await watches.cache(tenant, NAMESPACES)
    await elsewhere.write(tenant, create(ObjectKey(*NAMESPACES, "", "n")))
    with pytest.raises(Unavailable):
        await watches.fresh(tenant, NAMESPACES)
    await watches.stop()
