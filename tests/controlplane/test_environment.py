"""Settings from the environment: bad values are named, secrets come from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane import environment
from controlplane.errors import OperatorError


def test_number_out_of_range_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_PORT", "70000")
    with pytest.raises(OperatorError, match="POLYPLANE_PORT='70000' is not a number from 1 to 65535"):
        environment.number("PORT", 6443, least=1, most=65535)


@pytest.mark.parametrize(("raw", "value"), [("true", True), ("1", True), ("off", False), ("", False)])
def test_flag(monkeypatch: pytest.MonkeyPatch, raw: str, value: bool) -> None:
    monkeypatch.setenv("POLYPLANE_X", raw)
    assert environment.flag("X") is value
    assert environment.flag("UNSET", default=True) is True


def test_flag_refuses_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_X", "maybe")
    with pytest.raises(OperatorError, match="neither true nor false"):
        environment.flag("X")


def test_secret_comes_from_the_variable_then_from_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("from-file\n")
    monkeypatch.setenv("POLYPLANE_S_FILE", str(tmp_path / "s"))
    assert environment.secret("POLYPLANE_S") == "from-file"
    monkeypatch.setenv("POLYPLANE_S", "direct")
    assert environment.secret("POLYPLANE_S") == "direct"
    monkeypatch.delenv("POLYPLANE_S")
    monkeypatch.setenv("POLYPLANE_S_FILE", str(tmp_path / "missing"))
    with pytest.raises(OperatorError, match="cannot be read"):
        environment.secret("POLYPLANE_S")
