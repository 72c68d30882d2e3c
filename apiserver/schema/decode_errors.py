"""What decoding of built-in types keeps track of: where it stands, what went wrong, and how Go says
it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from apiserver.golang.strconv import go_quote

Path = tuple[Any, str | int, str | None] | None
"""(parent, member name, name of the Go struct and those embedded in it that hold the member, as in
"RuleWithOperations Rule"), (parent, key of a map, None) or (parent, index, None)."""

Decoder = Callable[[Any, "Run", Path], Any]

_MAX_STRICT_ERRORS = 100
_MAX_EMPTIES = 1000


class Empty(NamedTuple):
    """A list or a map that was sent empty, and that Go leaves out when it writes it: a nil one is
    something else to validation. path: from the root of the object."""

    path: tuple[str | int, ...]
    type: type[list[Any]] | type[dict[str, Any]]


class DecodeError(ValueError):
    """The text is what Go's decoder says, without the "... cannot be handled as ..." that the
    request adds."""


class Run:
    """The state of one decoding."""

    __slots__ = ("empties", "error", "prefix", "strict")

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.error = ""
        self.strict: dict[str, None] = {}
        self.empties: list[Empty] = []

    def unknown(self, path: Path, name: str) -> None:
        if len(self.strict) < _MAX_STRICT_ERRORS:
            self.strict[
                f"unknown field {go_quote(strict_path((path, name, None), self.prefix))}"
            ] = None

    def drop(self, path: Path, name: str, value: Any) -> None:
        if (value == [] or value == {}) and len(self.empties) < _MAX_EMPTIES:
            self.empties.append(Empty((*(step for step, _ in _steps(path)), name), type(value)))

    def save(self, text: str) -> None:
        self.error = self.error or text


def _steps(path: Path) -> list[tuple[str | int, str | None]]:
    steps = []
    while path is not None:
        path, step, struct = path
        steps.append((step, struct))
    steps.reverse()
    return steps


def strict_path(path: Path, prefix: str) -> str:
    out = prefix
    for step, _ in _steps(path):
        out = f"{out}[{step}]" if isinstance(step, int) else f"{out}.{step}" if out else step
    return out


def type_error(value: str, go_type: str, path: Path) -> str:
    """``value``: what was found: "string", "number 1.5", "object" ... List indexes and map keys do
    not show in Go's field names."""
    fields = [(step, struct.partition(" ")) for step, struct in _steps(path) if struct is not None]
    if not fields:
        return f"json: cannot unmarshal {value} into Go value of type {go_type}"
    names = ".".join(
        f"{embedded}.{step}" if embedded else str(step) for step, (*_, embedded) in fields
    )
    return (
        f"json: cannot unmarshal {value} into Go struct field {fields[-1][1][0]}.{names} of "
        f"type {go_type}"
    )
