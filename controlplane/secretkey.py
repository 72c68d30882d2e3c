"""Django's SECRET_KEY: made at random once and kept in the data directory (0600), so that sessions,
continue tokens and the tokens of service accounts outlive a restart.

Machines that share one database must share the key: set POLYPLANE_SECRET_KEY or
POLYPLANE_SECRET_KEY_FILE there.
"""

from __future__ import annotations

import os
import secrets
import time

from controlplane import files
from controlplane.datadir import DataDir, mend
from controlplane.errors import OperatorError

_NAME = "secret.key"


def secret_key(data: DataDir) -> str:
    """The key of the data directory; made at the first call. Processes that start together agree on
    one."""
    path = data.file(_NAME)
    data.create()
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(data)
    except OSError as e:
        raise OperatorError(
            f"{path} cannot be written: {e.strerror}.",
            mend(e, "free disk space, correct the directory's owner"),
        ) from e
    key = secrets.token_urlsafe(64)
    with os.fdopen(fd, "w") as f:
        f.write(key)
    return key


def _read(data: DataDir) -> str:
    """Waits a moment for a maker between create and write."""
    path = data.file(_NAME)
    for _ in range(50):
        try:
            if key := files.read_file(path).decode().strip():
                return key
        except OSError as e:
            raise OperatorError(
                f"{path} cannot be read: {e.strerror}.",
                "run as the user who made it, or correct its owner.",
            ) from e
        time.sleep(0.02)
    raise OperatorError(
        f"{path} is empty.",
        f"remove it; sessions, continue tokens and service account tokens end: rm {path}",
    )
