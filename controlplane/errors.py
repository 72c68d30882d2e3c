"""A failure that the operator can mend: what went wrong and what to do, printed without a
traceback."""

from __future__ import annotations


class OperatorError(Exception):
    """problem: one sentence; fix: what to do about it, one or more lines."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem}\n  fix: {fix}")
        self.problem = problem
        self.fix = fix
