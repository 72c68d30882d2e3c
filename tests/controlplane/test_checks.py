"""The system checks keep their ids and find what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from controlplane import checks
from controlplane.datadir import DataDir


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataDir:
    monkeypatch.setattr(settings, "POLYPLANE_DATA_DIR", tmp_path / "d")
    data = DataDir(tmp_path / "d")
    data.create()
    return data


def ids(messages: list[object]) -> list[str | None]:
    return [getattr(m, "id", None) for m in messages]


def test_open_data_directory_and_open_secret(data: DataDir) -> None:
    assert checks.check_data_directory() == []
    data.path.chmod(0o755)
    data.write_secret("ca.key", b"").chmod(0o640)
    assert ids([*checks.check_data_directory()]) == ["polyplane.E001", "polyplane.E002"]


def test_debugging_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.check_debug() == []
    monkeypatch.setattr(settings, "DEBUG", True)
    assert ids([*checks.check_debug()]) == ["polyplane.W001"]


def test_a_short_secret_key_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.check_secret_key() == []
    monkeypatch.setattr(settings, "SECRET_KEY", "changeme")
    assert ids([*checks.check_secret_key()]) == ["polyplane.W003"]


def test_database_version_and_durability(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.check_database(databases=["default"]) == []
    monkeypatch.setattr(settings, "POLYPLANE_ALLOW_UNSAFE_DATABASE", False)
    assert ids([*checks.check_database(databases=["default"])]) == ["polyplane.E004"]
    monkeypatch.setattr(checks, "MINIMUM_VERSION", 19)
    assert ids([*checks.check_database(databases=["default"])]) == [
        "polyplane.E003",
        "polyplane.E004",
    ]
