"""Files and directories of the installation, opened so that nobody can put a link or something of
theirs in place of one.

Under root the data directory belongs to PostgreSQL's account (privileges.py), and it may
lie where others can write, as below /tmp: what is there is looked at through the opened descriptor,
or without following links, before it is used.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from controlplane.errors import OperatorError
from controlplane.privileges import trusted_owners

_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a plain file with one name that belongs to somebody trusted; OSError as of
    open(2). Raises OperatorError for anything else."""
    try:
        fd = os.open(path, flags | _FLAGS | os.O_NONBLOCK, 0o600)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise OperatorError(
                f"{path} is a symbolic link.",
                f"look where it leads and who made it, then remove it: rm {path}",
            ) from e
        raise
    s = os.fstat(fd)
    if not stat.S_ISREG(s.st_mode) or s.st_nlink > 1 or s.st_uid not in trusted_owners():
        os.close(fd)
        what = (
            f"belongs to user id {s.st_uid}"
            if stat.S_ISREG(s.st_mode) and s.st_nlink <= 1
            else "is no file of its own"
        )
        raise OperatorError(f"{path} {what}.", f"look who made it, then remove it: rm {path}")
    return fd


def read_file(path: Path) -> bytes:
    """The content. Raises OSError, OperatorError."""
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as f:
        return f.read()


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Writes the file whole or not at all, as one that this process makes anew: what was there
    under that name is not touched. OSError."""
    new = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, mode)
    with os.fdopen(fd, "wb") as f:
        os.fchmod(fd, mode)
        f.write(content)
        f.flush()
        os.fsync(fd)
    os.replace(new, path)


def private_directory(
    path: Path, *, link: bool = False, owner: tuple[int, int] | None = None
) -> None:
    """Makes the directory, or takes the one that is there when it is somebody's who is trusted;
    mode 0700 afterwards. link: whether ``path`` may be a symbolic link that somebody trusted has
    made; owner: (user, group) that it is given to. OSError."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    with _directory(path, link) as fd:
        s = os.fstat(fd)
        if s.st_uid not in trusted_owners():
            raise OperatorError(
                f"{path} belongs to user id {s.st_uid}, and you are {os.geteuid()}.",
                "start as the user who made it (root?), or set POLYPLANE_DATA_DIR to a directory "
                "of your own.",
            )
        if owner is not None and s.st_uid != owner[0]:
            os.fchown(fd, *owner)
        if s.st_mode & 0o077:
            os.fchmod(fd, 0o700)


@contextmanager
def _directory(path: Path, link: bool) -> Iterator[int]:
    s = path.lstat()
    is_link = stat.S_ISLNK(s.st_mode)
    if is_link and not (link and s.st_uid in trusted_owners()):
        raise OperatorError(
            f"{path} is a symbolic link.",
            f"look where it leads and who made it, then remove it: rm {path}",
        )
    fd = os.open(
        path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if is_link else os.O_NOFOLLOW)
    )
    try:
        yield fd
    finally:
        os.close(fd)
