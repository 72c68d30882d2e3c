"""`manage.py up` as an operator meets it: real processes, real signals, one installation for the
whole module."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.installation import (
    MANAGE,
    Installation,
    alive,
    descendants,
    eventually,
    free_port,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Started once, so that the first start is behind it; its output stays in ``first_output``."""
    installation = Installation(tmp_path_factory.mktemp("up"))
    installation.start()
    installation.first_output = installation.output()  # type: ignore[attr-defined]
    yield installation
    if installation.process is not None and installation.process.poll() is None:
        installation.stop()


@pytest.fixture
def running(made: Installation) -> Installation:
    if made.process is None or made.process.poll() is not None:
        made.start()
    return made


def test_first_start_says_where_the_login_is_and_seeds_two_worlds(running: Installation) -> None:
    first = running.first_output  # type: ignore[attr-defined]
    path = re.search(r"login       admin, the password is in (\S+)", first)
    assert path is not None, first
    password = Path(path[1])
    assert (password.parent, password.stat().st_mode & 0o777) == (running.data, 0o600)
    secret = password.read_text().strip()
    assert len(secret) == 20 and secret not in first, "the output is a log here"
    config = yaml.safe_load((running.data / "admin.kubeconfig").read_text())
    assert [c["name"] for c in config["contexts"]] == ["default", "demo"]
    assert running.request("GET", "/api/v1/namespaces/shop")[0] == 404
    assert running.request("GET", "/clusters/demo/api/v1/namespaces/shop")[0] == 200


def test_demo_has_an_owner_chain_and_an_object_that_waits_on_a_finalizer(
    running: Installation,
) -> None:
    root = "/clusters/demo/api/v1/namespaces/shop"
    database, login = (
        running.request("GET", f"{root}/{p}")[1]
        for p in ("configmaps/database", "secrets/database-login")
    )
    address, stuck = (
        running.request("GET", f"{root}/configmaps/{p}")[1]
        for p in ("database-address", "old-bucket")
    )
    assert login["metadata"]["ownerReferences"][0]["uid"] == database["metadata"]["uid"]
    assert address["metadata"]["ownerReferences"][0]["uid"] == login["metadata"]["uid"]
    assert stuck["metadata"]["deletionTimestamp"] and stuck["metadata"]["finalizers"]


def test_files_are_closed_to_others(running: Installation) -> None:
    modes = {
        name: (running.data / name).stat().st_mode & 0o777
        for name in ("admin.kubeconfig", "ca.key", "tls.key", "secret.key")
    }
    assert set(modes.values()) == {0o600}
    assert running.data.stat().st_mode & 0o777 == 0o700


def test_second_supervisor_on_the_same_data_directory_names_the_first(
    running: Installation,
) -> None:
    assert running.process is not None
    second = running.manage("up", POLYPLANE_PORT=str(free_port()))
    assert second.returncode == 1
    assert f"already runs on {running.data} (process {running.process.pid})" in second.stderr


def test_taken_port_names_its_owner_and_a_way_out(running: Installation, tmp_path: Path) -> None:
    other = running.manage("up", POLYPLANE_DATA_DIR=str(tmp_path / "other"))
    assert other.returncode == 1
    assert f"Port {running.port} on 127.0.0.1 is taken by process" in other.stderr
    assert f"POLYPLANE_PORT={running.port + 1}" in other.stderr


def test_killed_worker_is_replaced_and_acknowledged_writes_stay(running: Installation) -> None:
    code, _ = running.request(
        "POST", "/api/v1/namespaces", {"metadata": {"name": "before-the-kill"}}
    )
    assert code == 201
    before = set(running.below("serve --fd"))
    os.kill(next(iter(before)), signal.SIGKILL)
    eventually(
        lambda: len(running.below("serve --fd")) == 2 and set(running.below("serve --fd")) != before
    )
    assert eventually(
        lambda: running.request("GET", "/api/v1/namespaces/before-the-kill")[0] == 200
    )


def test_killed_postgresql_comes_back_by_itself(running: Installation) -> None:
    assert (
        running.request("POST", "/api/v1/namespaces", {"metadata": {"name": "before-postgresql"}})[
            0
        ]
        == 201
    )
    postmaster = running.below("postgres -D")[0]
    os.kill(postmaster, signal.SIGKILL)
    eventually(lambda: running.below("postgres -D") and not alive(postmaster))
    assert eventually(
        lambda: (
            running.request("POST", "/api/v1/namespaces", {"metadata": {"generateName": "after-"}})[
                0
            ]
            == 201
        )
    )
    assert running.request("GET", "/api/v1/namespaces/before-postgresql")[0] == 200


def test_sigterm_ends_open_watches_and_every_process(running: Installation) -> None:
    assert running.process is not None
    connection = running.connect()
    connection.request(
        "GET", "/api/v1/namespaces?watch=true", headers={"Authorization": f"Bearer {running.token}"}
    )
    watch = connection.getresponse()
    assert watch.readline()
    children = descendants(running.process.pid)
    assert running.stop() == 0
    rest = watch.read()  # a complete chunked body: the stream was ended, not cut
    assert rest == b"" or rest.endswith(b"\n")
    connection.close()
    assert not [pid for pid in children if alive(pid)]


def test_second_start_is_quick_and_says_so(made: Installation) -> None:
    if made.process is not None and made.process.poll() is None:
        made.stop()
    made.start()
    assert "already initialised" in made.output()
    assert "admin /" not in made.output()


def test_killed_supervisor_takes_all_along_and_the_next_start_works(running: Installation) -> None:
    assert running.process is not None
    assert (
        running.request("POST", "/api/v1/namespaces", {"metadata": {"name": "before-the-crash"}})[0]
        == 201
    )
    children = descendants(running.process.pid)
    assert len(children) >= 3
    running.process.kill()
    running.process.wait()
    running.start()
    assert not [pid for pid in children if alive(pid)]
    assert running.request("GET", "/api/v1/namespaces/before-the-crash")[0] == 200


def test_signal_during_the_start_stops_cleanly(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.start(ready=False)
    eventually(lambda: "starting PostgreSQL" in installation.output())
    assert installation.stop(signal.SIGINT) == 0
    assert "stopped" in installation.output()
    assert not (installation.data / "postgres" / "postmaster.pid").exists()


def test_unreachable_database_is_named_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://someone:hunter2@127.0.0.1:{free_port()}/nothing"
    done = Installation(tmp_path).manage("up", DATABASE_URL=url)
    assert done.returncode == 1
    assert "cannot be reached" in done.stderr and "DATABASE_URL" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout


def test_killed_make_takes_the_supervisor_along(made: Installation, tmp_path: Path) -> None:
    """`make run` passes --with-parent, so that kill -9 of make leaves nothing behind."""
    if made.process is not None and made.process.poll() is None:
        made.stop()
    command = f"{' '.join(MANAGE)} up --with-parent & echo $! > {tmp_path}/pid; wait"
    with made.log.open("w") as out:
        make = subprocess.Popen(
            ["sh", "-c", command], env=made.env, stdout=out, stderr=subprocess.STDOUT
        )
    eventually(lambda: "Ctrl-C stops it" in made.output())
    supervisor = int((tmp_path / "pid").read_text())
    children = descendants(supervisor)
    make.kill()
    make.wait()
    eventually(lambda: not [pid for pid in (supervisor, *children) if alive(pid)])


def test_kubeconfig_merge_and_reset(made: Installation, tmp_path: Path) -> None:
    if made.process is not None and made.process.poll() is None:
        assert made.manage("reset").returncode == 1
        made.stop()
    target = tmp_path / "kube" / "config"
    assert made.manage("kubeconfig_merge", KUBECONFIG=str(target)).returncode == 0
    assert [c["name"] for c in yaml.safe_load(target.read_text())["contexts"]] == [
        "polyplane-default",
        "polyplane-demo",
    ]
    assert target.stat().st_mode & 0o777 == 0o600
    own = made.data / "admin.kubeconfig"
    before = own.read_text()
    assert made.manage("kubeconfig_merge", KUBECONFIG=str(own), HOME=str(tmp_path)).returncode == 0
    assert own.read_text() == before, (
        "the README exports KUBECONFIG: the file is not merged into itself"
    )
    assert (tmp_path / ".kube" / "config").exists()
    assert made.manage("reset", "--yes").returncode == 0
    assert not made.data.exists()
