"""Settings from the environment: names begin with POLYPLANE_, and every secret can come from a file named by NAME_FILE."""

from __future__ import annotations

import os
from pathlib import Path

from controlplane.errors import OperatorError

REPOSITORY = Path(__file__).resolve().parent.parent
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    return os.environ.get(f"POLYPLANE_{name}", default)


def number(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    raw = text(name)
    if not raw:
        return default
    if not raw.isascii() or not raw.isdigit() or not least <= int(raw) <= most:
        raise OperatorError(
            f"POLYPLANE_{name}={raw!r} is not a number from {least} to {most}.", f"unset POLYPLANE_{name} (default {default})."
        )
    return int(raw)


def flag(name: str, default: bool = False) -> bool:
    raw = text(name).lower()
    if raw in _TRUE:
        return True
    if raw in _FALSE:
        return default if raw == "" else False
    raise OperatorError(f"POLYPLANE_{name}={raw!r} is neither true nor false.", f"set POLYPLANE_{name} to true or false.")


def words(name: str) -> list[str]:
    """A comma-separated list, without blanks."""
    return [w.strip() for w in text(name).split(",") if w.strip()]


def secret(name: str) -> str:
    """The value of ``name``, or the stripped content of the file that ``name_FILE`` names, or ""; full variable names."""
    if value := os.environ.get(name):
        return value
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text().strip()
        except OSError as e:
            raise OperatorError(f"{name}_FILE={path} cannot be read: {e.strerror}.", "correct the path or its permissions.") from e
    return ""


def data_dir() -> Path:
    """Where everything that the installation keeps on disk lives; not created here."""
    return Path(text("DATA_DIR") or REPOSITORY / ".data").expanduser().absolute()


def default_workers() -> int:
    return number("WORKERS", len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, least=1, most=1024)
