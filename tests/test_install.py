"""`make install` in a clone: the kubectl plugin stands beside the clone's python. The clone is one
of links, so nothing is installed and nothing of it is touched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Its dependencies are there already, newer than what names them."""
    clone = tmp_path / "a clone"
    (clone / ".venv/bin").mkdir(parents=True)
    for name in "Makefile", "controlplane", "apiserver", "requirements.lock":
        (clone / name).symlink_to(ROOT / name)
    (clone / ".venv/bin/python").symlink_to(sys.executable)
    (clone / ".venv/.runtime").touch()
    return clone


def run(*command: str, at: Path) -> str:
    done = subprocess.run(command, cwd=at, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_plugin_is_there_after_make_install(clone: Path, tmp_path: Path) -> None:
    run("make", "install", at=clone)
    plugin = clone / ".venv/bin/kubectl-polyplane"
    before = plugin.stat().st_mtime_ns
    told = run(str(plugin), "--help", at=tmp_path)
    assert "kubectl polyplane" in told and "undelete" in told
    told = run(str(plugin), "as-of", "--help", at=tmp_path)
    assert "TIME" in told, "arguments are passed on"
    run("make", "install", at=clone)
    assert plugin.stat().st_mtime_ns == before, "it is left alone"
    assert "kubectl-polyplane" in (ROOT / "docs/history.md").read_text()


def test_a_machine_without_python_is_told_the_way_out(clone: Path) -> None:
    (clone / ".venv/bin/python").unlink()
    command = ("make", "install", "PYTHON=no-such-python")
    done = subprocess.run(command, cwd=clone, text=True, capture_output=True, check=False)
    assert done.returncode != 0
    assert "error: there is no no-such-python\n  fix: install Python 3.11" in done.stderr
    assert not (clone / ".venv/bin/pip").exists(), "nothing was begun"
