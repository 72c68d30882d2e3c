"""Where a value stands while it is validated, and the errors that name that place."""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, invalid, type_invalid
from apiserver.golang.strconv import go_quote

Path = tuple[Any, str | int] | None
"""(parent, member name or index); None for the root."""


ROOT = FieldPath("")


def text_of(path: Path) -> str:
    """``spec.list[1].id``."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if type(step) is int else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")


def whole(message: str) -> FieldError:
    """An error that kube-openapi does not pin to a field."""
    return invalid("", "", message)


def type_error(path: Path, expected: str, actual: str) -> FieldError:
    where = text_of(path)
    return type_invalid(
        where, actual, f"{where} in body must be of type {expected}: {go_quote(actual)}"
    )
