"""The data directory: which file lies where, who may read it, and who holds it at the moment.

.data/  0700   postgres/ (cluster)  run/ (socket)  log/  secret.key  ca.crt ca.key  tls.crt tls.key
admin.kubeconfig  admin.password  lock
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from controlplane import environment, files
from controlplane.errors import OperatorError

_LONGEST_SOCKET_DIR = 107 - len(
    "/.s.PGSQL.5432.lock"
)  # sockaddr_un.sun_path, less what PostgreSQL appends

_CONTENTS = frozenset(
    {"postgres", "run", "log", "lock", "first-start", "admin.kubeconfig", "admin.password"}
    | {"secret.key", "ca.crt", "ca.key", "tls.crt", "tls.key"}
)
"""Everything that is ever kept here."""
_MARKS = frozenset({"secret.key", "ca.key", "postgres", "first-start"})
"""Beside a lock, each of these says that a Polyplane made the directory."""


def mend(error: OSError, otherwise: str) -> str:
    """The fix for a data directory that cannot be written."""
    if error.errno == errno.EROFS:
        otherwise = "mount its file system writable"
    return f"{otherwise}, or set POLYPLANE_DATA_DIR to another directory."


@dataclass(frozen=True, slots=True)
class DataDir:
    path: Path

    @classmethod
    def from_environment(cls) -> Self:
        return cls(environment.data_dir())

    @property
    def cluster(self) -> Path:
        return self.path / "postgres"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def socket_dir(self) -> Path:
        """Where PostgreSQL's socket lies. A path too long for a socket address gets a directory of
        its own under the temporary directory, named after the data directory."""
        inside = self.path / "run"
        if len(os.fsencode(inside)) <= _LONGEST_SOCKET_DIR:
            return inside
        digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"polyplane-{digest}"

    def file(self, name: str) -> Path:
        return self.path / name

    def refuse_foreign(self) -> None:
        """OperatorError where the directory holds something else than a Polyplane: its mode would
        be changed, and `reset` would remove it whole. What lies beside a Polyplane's own files may
        stay there."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise OperatorError(
                f"POLYPLANE_DATA_DIR={self.path} is no directory.", "name a directory, or unset it."
            )
        try:
            names = {path.name for path in self.path.iterdir()}
        except OSError as e:
            raise OperatorError(
                f"The data directory {self.path} cannot be read: {e.strerror}.",
                "correct its owner.",
            ) from e
        others = sorted(names - _CONTENTS)
        if others and not ("lock" in names and names & _MARKS):
            raise OperatorError(
                f"{self.path} holds something else than a Polyplane ({others[0]}, ...).",
                "set POLYPLANE_DATA_DIR to an empty or a new directory.",
            )

    def create(self) -> None:
        """Makes the directory with mode 0700; an existing one is tightened. OperatorError when it
        cannot be used. The directory itself may be a link of this user's, to another disk for
        example; nothing in it may."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            files.private_directory(self.path, link=True)
            files.private_directory(self.log)
        except OSError as e:
            raise OperatorError(
                f"The data directory {self.path} cannot be used: {e.strerror}.",
                mend(e, "free disk space, correct its owner (was it made by root?)"),
            ) from e

    def write_secret(self, name: str, content: bytes) -> Path:
        """Writes a file of mode 0600, whole or not at all."""
        path = self.file(name)
        files.replace_file(path, content)
        return path

    def try_lock(self) -> int | None:
        """The descriptor of the held lock: who holds it runs PostgreSQL here. None when another
        process has it. The lock ends with the process, so none is ever stale; the file holds the
        holder's process id for messages."""
        fd = files.open_file(self.file("lock"), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        return fd

    def locked_by_another(self) -> bool:
        """Whether another process holds the lock at this moment; takes nothing and changes
        nothing."""
        if (fd := self.try_lock()) is None:
            return True
        os.close(fd)
        return False

    def lock_holder(self) -> str:
        try:
            return files.read_file(self.file("lock")).decode().strip() or "unknown"
        except OSError:
            return "unknown"
