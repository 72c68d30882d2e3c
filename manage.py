#!/usr/bin/env python3
"""Polyplane's commands. Those that need the database start the embedded PostgreSQL for themselves when it is not running."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext

WITHOUT_DATABASE = frozenset(
    {
        "check",
        "convert",
        "help",
        "version",
        "up",
        "reset",
        "kubeconfig_merge",
        "makemigrations",
        "collectstatic",
        "--help",
        "-h",
        "--version",
    }
)


def database_for(arguments: list[str]) -> AbstractContextManager[None]:
    command = arguments[1] if len(arguments) > 1 else "help"
    if command in WITHOUT_DATABASE or {"-h", "--help"} & set(arguments):
        return nullcontext()
    from controlplane import environment
    from controlplane.datadir import DataDir
    from controlplane.embedded.oneoff import running

    return nullcontext() if environment.secret("DATABASE_URL") else running(DataDir.from_environment())


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    from django.core.management import execute_from_command_line

    from controlplane.errors import OperatorError

    try:
        with database_for(sys.argv):
            execute_from_command_line(sys.argv)
    except OperatorError as e:
        sys.exit(f"error: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
