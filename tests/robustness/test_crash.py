"""kill -9 of PostgreSQL under load: no acknowledged write is lost, none is done twice, and store
and watches go on by themselves."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio

from apiserver.storage.errors import StorageError, Unavailable
from apiserver.storage.interface import Record
from apiserver.storage.postgres import PostgresStore
from apiserver.watch.watches import Watches
from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded.server import EmbeddedServer, database_settings
from tests.support.storage import CONFIGMAPS, create, index, key, stored, update
from tests.support.waiting import PATIENCE, until
from tests.support.watch import read

ROOT = Path(__file__).resolve().parent.parent.parent
TENANT = 1
_PREPARE = (
    "import django; django.setup(); from django.core.management import call_command; "
    "from apiserver.storage import tenants; "
)
_PREPARE += f"call_command('migrate', verbosity=0); tenants.create({TENANT})"


# The server ends with the thread that started it (PR_SET_PDEATHSIG), so that thread must outlive
# the event loops of the tests.
STARTER = ThreadPoolExecutor(1)


async def in_starter(call: Callable[[], None]) -> None:
    await asyncio.get_running_loop().run_in_executor(STARTER, call)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A durable PostgreSQL of this module's own, to be killed."""
    data = DataDir(tmp_path_factory.mktemp("crash") / "data")
    running = EmbeddedServer(data)
    running.start()
    environment = os.environ | {"POLYPLANE_DATA_DIR": str(data.path)}
    subprocess.run([sys.executable, "-c", _PREPARE], cwd=ROOT, env=environment, check=True)
    yield running
    running.stop()


@pytest_asyncio.fixture
async def durable(server: EmbeddedServer) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(conninfo(database_settings(server.data)), size=4, patience=20)
    await opened.open()
    yield opened
    await opened.close()


def kill(server: EmbeddedServer) -> None:
    """All processes of the server at once, as if the machine had stopped; start() runs recovery.

    Each backend is a process group of its own, and one that is at work when the first process ends
    would go on answering for a while."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)  # it starts no others
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for pid in (*map(int, children), server.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.stop()


@dataclass
class Load:
    """Writers that create objects and update each once, and what they were told."""

    store: PostgresStore
    prefix: str
    created: dict[str, Record] = field(default_factory=dict)
    updated: dict[str, int] = field(default_factory=dict)
    refused: list[tuple[str, StorageError]] = field(default_factory=list)
    stopping: bool = False

    async def run(self, writers: int) -> None:
        await asyncio.gather(*(self._write(i) for i in range(writers)))

    async def _write(self, writer: int) -> None:
        count = 0
        while not self.stopping:
            name = f"{self.prefix}-{writer}-{count}"
            count += 1
            write = create(key(name), "1")
            try:
                record = stored(write, await self.store.write(TENANT, write))
                self.created[name] = record
                self.updated[name] = await self.store.write(TENANT, update(record, "2"))
            except StorageError as error:
                self.refused.append((name, error))


async def _log(store: PostgresStore, after: int) -> list[tuple[str, str, int]]:
    events: list[tuple[str, str, int]] = []
    while True:
        page = await store.events(TENANT, after)
        events += [(e.record.key.name, e.type, e.record.resource_version) for e in page.events]
        if page.through == after:
            return events
        after = page.through


async def _check(store: PostgresStore, load: Load, start: int) -> None:
    log = await _log(store, start)
    assert len({version for _, _, version in log}) == len(log)
    added = {name: version for name, kind, version in log if kind == "ADDED"}
    modified = {name: version for name, kind, version in log if kind == "MODIFIED"}
    assert len(added) + len(modified) == len(log), "nothing was done twice"
    assert {n: r.resource_version for n, r in load.created.items()}.items() <= added.items()
    assert load.updated.items() <= modified.items()
    told = {
        *load.created,
        *(name for name, error in load.refused if isinstance(error, Unavailable) and error.unknown),
    }
    assert set(added) <= told, "what was refused for certain is not there"


@pytest.mark.parametrize("round_", range(3))
async def test_kill_under_load(durable: PostgresStore, server: EmbeddedServer, round_: int) -> None:
    start = await durable.head(TENANT)
    watches = Watches(durable, index)
    await watches.start()
    subscription = await watches.subscribe(TENANT, CONFIGMAPS, after=start)
    load = Load(durable, f"k{round_}")
    running = asyncio.create_task(load.run(16))
    await until(lambda: len(load.updated) > 16)
    await in_starter(lambda: kill(server))
    await asyncio.sleep(0.3)
    await in_starter(server.start)
    at_restart = len(load.updated)
    await until(lambda: load.refused or len(load.updated) > at_restart + 16)  # writers go on
    load.stopping = True
    await running
    assert not load.refused, "patience outlasted the crash, so every outcome was found out"
    await _check(durable, load, start)
    head = await durable.head(TENANT)
    seen: list[int] = []
    while not seen or seen[-1] < head:
        seen += [event.resource_version for event in await read(subscription, 1)]
    assert seen == [version for _, _, version in await _log(durable, start)]
    await watches.stop()


async def test_a_killed_backend_costs_nothing(
    durable: PostgresStore, server: EmbeddedServer
) -> None:
    start = await durable.head(TENANT)
    load = Load(durable, "backend")
    running = asyncio.create_task(load.run(16))
    for _ in range(5):
        before = len(load.updated)
        await until(lambda before=before: load.refused or len(load.updated) > before + 16)
        with psycopg.connect(
            conninfo(database_settings(server.data)), autocommit=True
        ) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
                "'polyplane'"
            )
    load.stopping = True
    await running
    assert not load.refused
    await _check(durable, load, start)


async def _written(store: PostgresStore, name: str) -> int:
    """The version as which the object is created, once the database takes it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await store.write(TENANT, create(key(name)))
            except Unavailable:
                await asyncio.sleep(0.1)


async def test_without_a_database_errors_come_in_time_and_say_what_is_known(
    server: EmbeddedServer,
) -> None:
    store = PostgresStore(conninfo(database_settings(server.data)), size=2, patience=0.5)
    await store.open()
    load = Load(store, "away")
    running = asyncio.create_task(load.run(4))
    await until(lambda: load.created)
    await in_starter(lambda: kill(server))
    try:
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(Unavailable):
                await store.list(TENANT, CONFIGMAPS)
            with pytest.raises(Unavailable) as raised:
                await store.write(TENANT, create(key("never-sent")))
        assert not raised.value.unknown, "it was never sent"
        await until(lambda: load.refused)
        load.stopping = True
        await running
    finally:
        await in_starter(server.start)
    version = await _written(store, "after")
    assert await store.head(TENANT) == version
    assert await store.get(TENANT, key("never-sent")) is None
    start = min(r.resource_version for r in load.created.values()) - 1
    log = await _log(store, start)
    created = {name for name, kind, _ in log if kind == "ADDED"} - {"after"}
    known = {
        *load.created,
        *(name for name, error in load.refused if isinstance(error, Unavailable) and error.unknown),
    }
    assert set(load.created) <= created <= known
    await store.close()
