"""The banner: the password goes to somebody who looks, or into a file."""

from __future__ import annotations

from pathlib import Path

from controlplane.datadir import DataDir
from controlplane.supervisor.banner import banner, login_line
from controlplane.supervisor.initialise import Initialised


def done(path: Path, password: str) -> Initialised:
    return Initialised(True, password, path / "admin.kubeconfig")


def test_a_terminal_shows_the_password_and_nothing_is_written(tmp_path: Path) -> None:
    line = login_line(done(tmp_path, "secret"), DataDir(tmp_path), terminal=True)
    assert line.startswith("admin / secret ")
    assert list(tmp_path.iterdir()) == []
    assert f"login       {line}" in banner(
        done(tmp_path, "secret"), "https://127.0.0.1:6443", 1, line
    )


def test_a_log_shows_where_it_is(tmp_path: Path) -> None:
    line = login_line(done(tmp_path, "secret"), DataDir(tmp_path), terminal=False)
    path = tmp_path / "admin.password"
    assert str(path) in line and "secret" not in line
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("secret\n", 0o600)


def test_later_starts_say_nothing(tmp_path: Path) -> None:
    assert (
        login_line(done(tmp_path, ""), DataDir(tmp_path), terminal=False) == "already initialised"
    )
    assert list(tmp_path.iterdir()) == []
