"""Before what cannot be undone: a question at a terminal, `--yes` elsewhere."""

from __future__ import annotations

import sys
from typing import Any

from controlplane.errors import OperatorError
from controlplane.management.output import FOR_PEOPLE


def ask(options: dict[str, Any], what: str, problem: str) -> None:
    """what: would happen, as the question has it. Raises OperatorError with ``problem`` unless
    somebody says yes."""
    if options["yes"]:
        return
    asks = sys.stdin.isatty() and options["output"] in FOR_PEOPLE
    if asks and input(f"{what} Go on? [y/N] ").strip().lower() == "y":
        return
    raise OperatorError(problem, "say so: the same command with --yes.")
