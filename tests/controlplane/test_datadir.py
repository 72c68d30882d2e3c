"""The data directory: what is said where it cannot be written."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from controlplane import files
from controlplane.datadir import DataDir
from controlplane.errors import OperatorError
from controlplane.secretkey import secret_key


@pytest.mark.parametrize(
    ("number", "fix"), [(errno.EROFS, "mount its file system writable"), (errno.ENOSPC, "free")]
)
def test_the_fix_is_that_of_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fix: str
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    data = DataDir(tmp_path / "d")
    with monkeypatch.context() as patched:
        patched.setattr(files, "private_directory", fails)
        with pytest.raises(OperatorError) as refused:
            data.create()
    assert refused.value.fix.startswith(fix)
    assert "POLYPLANE_DATA_DIR" in refused.value.fix
    monkeypatch.setattr(DataDir, "create", lambda _: None)
    monkeypatch.setattr("controlplane.secretkey.os.open", fails)
    with pytest.raises(OperatorError) as refused:
        secret_key(data)
    assert refused.value.fix.startswith(fix)
