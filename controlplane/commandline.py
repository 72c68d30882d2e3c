"""The command line: what `manage.py` in a clone, `polyplane` after `pip install`, and `python -m
controlplane` run.

Commands that need the database start the embedded PostgreSQL for themselves when it is not running.
A failure that the operator can mend is printed as one line with its cause and one with the fix,
never as a traceback.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from controlplane import environment
from controlplane.datadir import DataDir
from controlplane.errors import OperatorError

WITHOUT_DATABASE = frozenset(
    {"check", "convert", "help", "version", "up", "reset", "kubeconfig_merge", "makemigrations"}
    | {"collectstatic", "--help", "-h", "--version"}
)
"""Commands that never open the database, or, as ``up``, take care of it themselves."""
_UNKNOWN_TO_DJANGO = ("help", "version")
"""Commands that it does not find where the others are, and so never suggests."""
OUTPUTS = ("text", "table", "json", "yaml")
"""What `-o` of every command that prints takes; ``table`` is another name of ``text``."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command; ``arguments`` as in ``sys.argv``. Exits with 1 on a failure that the
    operator can mend."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    words = list(sys.argv if arguments is None else arguments)
    try:
        _run(words)
    except OperatorError as e:
        sys.exit(f"error: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run(words: list[str]) -> None:
    command = words[1] if len(words) > 1 else "help"
    if command in ("version", "--version"):
        from controlplane import version

        sys.stdout.write(f"{version.describe(_output(words[0], words[2:]))}\n")
    elif command in ("help", "--help", "-h") and len(words) <= 2:
        from controlplane import commandhelp

        sys.stdout.write(f"{commandhelp.overview(os.path.basename(words[0]))}\n")
    else:
        _check_word(command)
        _execute(command, words)


def _check_word(command: str) -> None:
    """Raises OperatorError for a misspelt word that Django has no suggestion for."""
    near = difflib.get_close_matches(command, _UNKNOWN_TO_DJANGO, n=1)
    if not near or command in _UNKNOWN_TO_DJANGO:
        return
    from controlplane import commandhelp

    if command not in commandhelp.names():
        raise OperatorError(f'There is no command "{command}".', f"did you mean {near[0]}?")


def _output(program: str, words: list[str]) -> str:
    """What `version` is asked for; says what is wrong as the other commands do."""
    from argparse import ArgumentParser

    parser = ArgumentParser(f"{os.path.basename(program)} version")
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="text")
    return str(parser.parse_args(words).output)


def _execute(command: str, words: list[str]) -> None:
    from django.core.management import execute_from_command_line
    from django.db.utils import OperationalError, ProgrammingError

    environment.check_names()
    DataDir.from_environment().refuse_foreign()  # Django's settings put a key there
    if command == "up":
        from controlplane import preflight

        preflight.check()
    try:
        with _database_for(command, words):
            execute_from_command_line(words)
    except ProgrammingError as e:
        if "does not exist" not in str(e):
            raise
        raise _no_tables() from e
    except OperationalError as e:
        reached = getattr(e.__cause__, "sqlstate", None) is not None
        if reached or not environment.secret("DATABASE_URL"):
            raise
        from django.db import DEFAULT_DB_ALIAS, connections

        from controlplane.database import unreachable

        raise unreachable(connections.settings[DEFAULT_DB_ALIAS], e) from e


def _no_tables() -> OperatorError:
    return OperatorError(
        "The database has no tables yet, or those of an older version.",
        "start Polyplane once (`make run`), or run `manage.py migrate`.",
    )


def _no_cluster(data: DataDir) -> OperatorError:
    lacking = data.cluster if data.path.exists() else data.path
    named = "POLYPLANE_DATA_DIR" if environment.text("DATA_DIR") else "the data directory"
    return OperatorError(
        f"The database has no tables yet: {lacking} is not there ({named}).",
        "start Polyplane once (`make run`), or set POLYPLANE_DATA_DIR to the directory of one "
        "that was.",
    )


def _database_for(command: str, words: list[str]) -> AbstractContextManager[None]:
    if command in WITHOUT_DATABASE or {"-h", "--help"} & set(words):
        return nullcontext()
    from controlplane import commandhelp
    from controlplane.embedded.oneoff import running

    if environment.secret("DATABASE_URL"):
        return nullcontext()
    data = DataDir.from_environment()
    if command == "migrate" or data.cluster.exists():
        return running(data)
    if command in commandhelp.names():
        raise _no_cluster(data)  # nothing is made for a question
    return nullcontext()  # Django says that there is none, and which one may have been meant
