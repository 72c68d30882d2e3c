"""Links and other people's files in place of ours are refused, and never followed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane import files
from controlplane.datadir import DataDir
from controlplane.embedded import cluster
from controlplane.errors import OperatorError
from controlplane.secretkey import secret_key

STRANGER = 54321
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    made = DataDir(tmp_path / "data")
    made.create()
    return made


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("keep me")
    return path


@pytest.mark.parametrize("name", ["lock", "secret.key", "log/postgresql.log"])
def test_a_link_in_the_data_directory_is_refused(data: DataDir, victim: Path, name: str) -> None:
    (data.path / name).symlink_to(victim)
    uses: dict[str, Callable[[], object]] = {
        "lock": data.try_lock,
        "secret.key": lambda: secret_key(data),
        "log/postgresql.log": lambda: files.open_file(
            data.path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT
        ),
    }
    with pytest.raises(OperatorError, match=r"is a symbolic link.*\n.*rm "):
        uses[name]()
    assert victim.read_text() == "keep me"


def test_the_lock_does_not_truncate_a_hard_link(data: DataDir, victim: Path) -> None:
    os.link(victim, data.file("lock"))
    with pytest.raises(OperatorError, match="is no file of its own"):
        data.try_lock()
    assert victim.read_text() == "keep me"


def test_a_pipe_in_place_of_the_lock_does_not_hang(data: DataDir) -> None:
    os.mkfifo(data.file("lock"))
    with pytest.raises(OperatorError, match="is no file of its own"):
        data.try_lock()


@pytest.mark.parametrize("name", ["ca.key", ".ca.key.new"])
def test_a_secret_is_written_beside_a_link_and_not_through_it(
    data: DataDir, victim: Path, name: str
) -> None:
    data.file(name).symlink_to(victim)
    path = data.write_secret("ca.key", b"secret")
    assert victim.read_text() == "keep me"
    assert (
        not path.is_symlink()
        and path.read_bytes() == b"secret"
        and path.stat().st_mode & 0o777 == 0o600
    )


@pytest.mark.parametrize("name", ["postgres", "run", "log"])
def test_a_link_in_place_of_a_directory_is_refused(tmp_path: Path, name: str) -> None:
    data, elsewhere = DataDir(tmp_path / "data"), tmp_path / "elsewhere"
    data.path.mkdir()
    elsewhere.mkdir(mode=0o755)
    (data.path / name).symlink_to(elsewhere)
    with pytest.raises(OperatorError, match="is a symbolic link"):
        cluster.prepare(data)
    assert (
        elsewhere.stat().st_mode & 0o777 == 0o755
        and elsewhere.stat().st_uid == os.geteuid()
        and not list(elsewhere.iterdir())
    )


def test_the_data_directory_itself_may_be_a_link_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o755)
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    DataDir(tmp_path / "data").create()
    assert (tmp_path / "disk").stat().st_mode & 0o777 == 0o700


@root_only
def test_the_data_directory_is_no_link_of_a_stranger(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    os.chown(tmp_path / "data", STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(OperatorError, match="is a symbolic link"):
        DataDir(tmp_path / "data").create()


@root_only
def test_a_directory_or_lock_of_a_stranger_is_refused(data: DataDir) -> None:
    data.file("lock").touch()
    os.chown(data.file("lock"), STRANGER, STRANGER)
    with pytest.raises(OperatorError, match=f"lock belongs to user id {STRANGER}"):
        data.try_lock()
    os.chown(data.path, STRANGER, STRANGER)
    with pytest.raises(OperatorError, match=f"belongs to user id {STRANGER}, and you are 0"):
        data.create()
