"""The embedded PostgreSQL starts, survives kill -9, and says what to do when it cannot start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from controlplane import privileges
from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded import cluster, leftovers
from controlplane.embedded.oneoff import running
from controlplane.embedded.server import EmbeddedServer, accepts, database_settings, explain_failure
from controlplane.errors import OperatorError
from tests.support.installation import Installation, eventually


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DataDir:
    """A data directory whose cluster exists."""
    data = DataDir(tmp_path_factory.mktemp("embedded") / "data")
    cluster.prepare(data, durable=False)
    return data


@pytest.fixture
def server(made: DataDir) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(made)
    server.start()
    yield server
    server.stop()


def query(data: DataDir, sql: str) -> object:
    with psycopg.connect(conninfo(database_settings(data)), autocommit=True) as connection:
        cursor = connection.execute(sql)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def test_is_postgresql_18_durable_and_off_the_network(server: EmbeddedServer) -> None:
    assert str(query(server.data, "SHOW server_version")).startswith("18")
    assert [
        query(server.data, f"SHOW {s}")
        for s in ("fsync", "synchronous_commit", "full_page_writes", "listen_addresses")
    ] == [
        "on",
        "on",
        "on",
        "",
    ]


def test_never_runs_as_root(server: EmbeddedServer) -> None:
    assert server.pid is not None
    assert os.stat(f"/proc/{server.pid}").st_uid != 0
    assert server.data.path.stat().st_mode & 0o777 == 0o700


def test_killed_server_keeps_what_was_committed(made: DataDir) -> None:
    server = EmbeddedServer(made)
    server.start()
    query(made, "CREATE TABLE IF NOT EXISTS kept (n int)")
    query(made, "INSERT INTO kept VALUES (7)")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    while not server.ended():
        time.sleep(0.01)
    again = EmbeddedServer(made)
    again.start()
    try:
        assert query(made, "SELECT max(n) FROM kept") == 7
    finally:
        again.stop()


def test_starter_killed_takes_the_server_along(made: DataDir) -> None:
    code = f"""
from pathlib import Path; import time
from controlplane.datadir import DataDir; from controlplane.embedded.server import EmbeddedServer
s = EmbeddedServer(DataDir(Path({str(made.path)!r}))); s.start()
print(s.pid, flush=True); time.sleep(60)"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    child.kill()
    child.wait()
    child.stdout.close()
    eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_stray_server_is_replaced(made: DataDir) -> None:
    stray = EmbeddedServer(made)
    stray.start()
    fresh = EmbeddedServer(made)
    fresh.start()
    try:
        assert stray.ended()
        assert accepts(made)
    finally:
        fresh.stop()


def test_pid_file_of_a_reused_process_id_is_cleared(made: DataDir) -> None:
    """After a reboot the id in postmaster.pid may belong to anything, here to this test."""
    (made.cluster / "postmaster.pid").write_text(
        f"{os.getpid()}\n{made.cluster}\n1\n5432\n{made.socket_dir}\n\n"
    )
    server = EmbeddedServer(made)
    server.start()
    try:
        assert accepts(made)
    finally:
        server.stop()


def test_command_runs_a_server_of_its_own_or_uses_the_running_one(made: DataDir) -> None:
    with running(made):
        first = query(made, "SELECT pg_postmaster_start_time()")
        with running(made):
            assert query(made, "SELECT pg_postmaster_start_time()") == first
        assert accepts(made)
    assert not accepts(made)


def test_cluster_of_another_version_is_refused_with_the_fix(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "d")
    data.create()
    data.cluster.mkdir()
    (data.cluster / "PG_VERSION").write_text("15\n")
    with pytest.raises(OperatorError, match="made by PostgreSQL 15"):
        cluster.prepare(data)


def test_full_disk_is_refused_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_LEAST_FREE", 2**62)
    with pytest.raises(OperatorError, match="free disk space"):
        cluster.prepare(DataDir(tmp_path / "d"))


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("FATAL:  could not write: No space left on device", "disk is full"),
        ('FATAL:  lock file "postmaster.pid" already exists', "another server uses"),
        ("2026 [1] FATAL:  bad parameter", "bad parameter"),
        ("", "did not answer in time"),
    ],
)
def test_failed_start_is_explained(tmp_path: Path, log: str, expected: str) -> None:
    assert expected in str(explain_failure(DataDir(tmp_path), log))


def test_long_data_directory_gets_a_short_socket(tmp_path: Path) -> None:
    deep = DataDir(tmp_path / ("x" * 60) / ("y" * 60))
    assert len(str(deep.socket_dir)) < 90
    assert DataDir(Path("/srv/p")).socket_dir == Path("/srv/p/run")


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root closes a directory to the account of PostgreSQL"
)
def test_root_only_directory_costs_one_capability(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    account = privileges.choose_account(tmp_path / "none")
    assert account is not None and account.uid != 0 and account.capability == -1
    assert privileges.with_capability(account, [Path("/usr/bin/env")]).capability == -1
    assert privileges.with_capability(account, [tmp_path / "inside"]).capability in (1, 2)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root closes a directory to the account of PostgreSQL"
)
def test_starts_inside_a_directory_that_only_root_may_enter(tmp_path: Path) -> None:
    """A clone in /root: data directory and binaries are both out of reach of the account."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedServer(DataDir(closed / "data"), durable=False)
    server.start()
    try:
        assert query(server.data, "SELECT 1") == 1
        assert server.pid is not None
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert int(status.split("CapEff:")[1].split()[0], 16).bit_count() == 1
    finally:
        server.stop()


def test_a_killed_postmaster_that_nobody_has_reaped_does_not_keep_the_next_from_starting(
    made: DataDir,
) -> None:
    """kill -9 of everything leaves a zombie until init takes it, and PostgreSQL's lock files name
    it."""
    account = privileges.choose_account(made.cluster)
    with subprocess.Popen(["/bin/true"], preexec_fn=privileges.become(account)) as zombie:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        lock = f"{zombie.pid}\n{made.cluster}\n1\n5432\n{made.socket_dir}\n\n"
        for path in (made.cluster / "postmaster.pid", made.socket_dir / ".s.PGSQL.5432.lock"):
            path.write_text(lock)
            if account is not None:
                os.chown(path, account.uid, account.gid)
        server = EmbeddedServer(made)
        server.start()
        server.stop()


def test_orphans_of_a_killed_postmaster_are_waited_for(made: DataDir) -> None:
    first = EmbeddedServer(made)
    first.start()
    assert first.pid is not None
    stuck = leftovers.processes_of(made.cluster.resolve())
    stuck.remove(first.pid)
    assert len(stuck) > 3
    os.kill(stuck[0], signal.SIGSTOP)
    os.kill(first.pid, signal.SIGKILL)
    lines: list[str] = []

    def heard(line: str) -> None:
        lines.append(line)
        os.kill(stuck[0], signal.SIGCONT)

    second = EmbeddedServer(made, say=heard)
    second.start()
    try:
        assert not {stuck[0], first.pid} & set(leftovers.processes_of(made.cluster))
        assert lines and "waiting for" in lines[0]
    finally:
        second.stop()
        first.stop()


def test_orphans_that_never_end_are_named(made: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "processes_of", lambda _: [2**22 + 1])
    with pytest.raises(OperatorError, match=rf"kill -9 {2**22 + 1}"):
        leftovers.clear(made, lambda _: None, timeout=0.2)


@pytest.mark.slow
def test_start_right_after_everything_was_killed(tmp_path: Path) -> None:
    """Supervisor, workers and postmaster; not the backends, which end by themselves a moment
    later."""
    installation = Installation(tmp_path)
    installation.env["POLYPLANE_WORKERS"] = "1"
    installation.start()
    for _ in range(4):
        assert installation.process is not None
        for pid in [
            installation.process.pid,
            *installation.below("serve --fd"),
            *installation.below("bin/postgres -D"),
        ]:
            os.kill(pid, signal.SIGKILL)
        installation.process.wait()
        installation.start()
    installation.stop()
