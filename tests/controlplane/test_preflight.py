"""`up` refuses what cannot work with one line and its fix, before it makes or starts anything."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.installation import MANAGE


def up(data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "POLYPLANE_DATA_DIR": str(data), **environment}
    return subprocess.run(
        [*MANAGE, "up"], capture_output=True, text=True, env=variables, timeout=120
    )


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("POLYPLANE_LOG_LEVEL", "loud", "POLYPLANE_LOG_LEVEL='LOUD' is no level"),
        ("POLYPLANE_WORKERS", "many", "POLYPLANE_WORKERS='many' is not a number"),
        ("POLYPLANE_WORKERS", "0", "POLYPLANE_WORKERS='0' is not a number"),
        ("POLYPLANE_PORT", "https", "POLYPLANE_PORT='https' is not a number"),
        ("POLYPLANE_WROKERS", "2", "did you mean POLYPLANE_WORKERS?"),
        (
            "POLYPLANE_TLS_CERT_FILE",
            "/nowhere/tls.crt",
            "POLYPLANE_TLS_CERT_FILE='/nowhere/tls.crt' is no file",
        ),
        ("DATABASE_URL", "mysql://u:hidden@db/x", "DATABASE_URL has scheme 'mysql'"),
        ("DATABASE_URL", "postgresql://u:hidden@127.0.0.1:1/x", "cannot be reached"),
        (
            "DATABASE_URL",
            "postgresql://u:hidden@127.0.0.1:port/x",
            "DATABASE_URL has a port that is not a number",
        ),
        ("DATABASE_URL_FILE", "/nowhere/url", "DATABASE_URL_FILE=/nowhere/url cannot be read"),
        ("POLYPLANE_BIND", "203.0.113.7", "The address 203.0.113.7:"),
        (
            "POLYPLANE_ADMISSION_CONTROL_CONFIG_FILE",
            "/nowhere/admission.yaml",
            "admission.yaml cannot be read: No such file",
        ),
        ("POLYPLANE_ENABLE_ADMISSION_PLUGINS", "PodSecurty", 'there is no plugin "PodSecurty"'),
        ("POLYPLANE_ENABLE_ADMISSION_PLUGINS", "EventRateLimit", "has no configuration"),
    ],
)
def test_what_cannot_work_is_named_with_its_fix_and_leaves_nothing(
    tmp_path: Path, name: str, value: str, problem: str
) -> None:
    done = up(tmp_path / "data", **{name: value})
    assert done.returncode == 1
    assert problem in done.stderr and "fix: " in done.stderr
    assert "Traceback" not in done.stderr and "hidden" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_taken_port_leaves_no_data_directory(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = up(tmp_path / "data", POLYPLANE_PORT=str(other.getsockname()[1]))
    assert done.returncode == 1 and "is taken by process" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("chapter one")
    mode = tmp_path.stat().st_mode
    done = up(tmp_path)
    assert done.returncode == 1 and "holds something else" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [
        "thesis.tex"
    ] and tmp_path.stat().st_mode == mode


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_text("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
    key.write_text("nonsense")
    files = {
        "POLYPLANE_TLS_CERT_FILE": str(certificate),
        "POLYPLANE_TLS_KEY_FILE": str(key),
    }
    done = up(tmp_path / "data", **files)
    assert done.returncode == 1 and 'has no "-----BEGIN PRIVATE KEY-----"' in done.stderr
    key.write_text("-----BEGIN EC PRIVATE KEY-----\nnonsense\n-----END EC PRIVATE KEY-----\n")
    done = up(tmp_path / "data", **files)
    assert (
        done.returncode == 1 and "cannot be used" in done.stderr and "Traceback" not in done.stderr
    )
