"""JSON patch: RFC 6902 with the liberties of evanphx/json-patch v4, which kube-apiserver uses.

Own code rather than the `jsonpatch` library, because the liberties are what clients see: ``replace`` of a missing member adds it,
``test`` of a missing member against null succeeds, ``copy`` of a missing member adds null, indices may be negative, the text before
the first slash is ignored. Whatever fails gives one and the same 422.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from apiserver.errors import RequestEntityTooLarge
from apiserver.patch.values import PatchRefused, copy_value

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
_INDEX = re.compile(r"[+-]?[0-9]{1,18}")

Operation = dict[str, Any]


def apply_json_patch(doc: dict[str, Any], operations: list[Operation]) -> Any:
    """The patched document, an object unless the whole was replaced by a list; ``doc`` is not changed.

    Raises RequestEntityTooLarge beyond 10,000 operations, PatchRefused when one does not apply."""
    if len(operations) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            f"Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    state = _Document(copy_value(doc))
    for operation in operations:
        name = operation.get("op") if operation else None
        run = _OPERATIONS.get(name) if isinstance(name, str) else None
        if run is None:
            raise PatchRefused(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")
        run(state, operation)
    return state.root


class _Document:
    """The document being changed. Values of operations are copied in, so that a patch can be applied again."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied = 0

    def find(self, path: str, what: str) -> tuple[Any, str]:
        """(container, last token) of a path."""
        tokens = [t.replace("~1", "/").replace("~0", "~") for t in path.split("/")[1:]]
        if not tokens:
            raise PatchRefused(f"{what} operation does not apply: doc is missing path: {path}")
        at = self.root
        for token in tokens[:-1]:
            at = _get(at, token)
            if not isinstance(at, dict | list):
                raise PatchRefused(f"{what} operation does not apply: doc is missing path: {path}")
        return at, tokens[-1]

    def add(self, operation: Operation) -> None:
        _add(*self.find(_text(operation, "path"), "add"), copy_value(operation.get("value")))

    def remove(self, operation: Operation) -> None:
        _remove(*self.find(_text(operation, "path"), "remove"))

    def replace(self, operation: Operation) -> None:
        path, value = _text(operation, "path"), copy_value(operation.get("value"))
        if path == "":
            if not isinstance(value, dict | list):
                raise PatchRefused("replace operation value must be object or array")
            self.root = value
            return
        container, token = self.find(path, "replace")
        if isinstance(container, list):
            container[_index(container, token)] = value
        else:
            container[token] = value

    def move(self, operation: Operation) -> None:
        container, token = self.find(_text(operation, "from"), "move")
        value = _get(container, token)
        _remove(container, token)
        _add(*self.find(_text(operation, "path"), "move"), value)

    def copy(self, operation: Operation) -> None:
        value = _get(*self.find(_text(operation, "from"), "copy"))
        target = self.find(_text(operation, "path"), "copy")
        if value is not None:
            self.copied += len(orjson.dumps(value))
        if self.copied > MAX_COPIED_BYTES:
            raise PatchRefused(f"Unable to complete the copy, the accumulated size increase of copy is {self.copied}")
        _add(*target, copy_value(value))

    def test(self, operation: Operation) -> None:
        path = _text(operation, "path")
        found = self.root if path == "" else _get(*self.find(path, "test"))
        if not _equal(found, operation.get("value")):
            raise PatchRefused(f"testing value {path} failed")


_OPERATIONS: dict[str, Callable[[_Document, Operation], None]] = {
    "add": _Document.add,
    "remove": _Document.remove,
    "replace": _Document.replace,
    "move": _Document.move,
    "copy": _Document.copy,
    "test": _Document.test,
}


def _text(operation: Operation, name: str) -> str:
    value = operation.get(name)
    if not isinstance(value, str):
        raise PatchRefused(f"{operation.get('op')} operation failed to decode {name}")
    return value


def _index(items: list[Any], token: str, size: int | None = None) -> int:
    """Position that ``token`` names among ``size`` places (default: the items); negative ones count from the end."""
    size = len(items) if size is None else size
    if not _INDEX.fullmatch(token) or not -size <= int(token) < size:
        raise PatchRefused(f"Unable to access invalid index: {token}")
    return int(token) % size


def _get(container: Any, token: str) -> Any:
    if isinstance(container, list):
        return container[_index(container, token)]
    return container.get(token)


def _add(container: Any, token: str, value: Any) -> None:
    if not isinstance(container, list):
        container[token] = value
    elif token == "-":  # noqa: S105 - a JSON pointer token, no secret
        container.append(value)
    else:
        container.insert(_index(container, token, len(container) + 1), value)


def _remove(container: Any, token: str) -> None:
    if isinstance(container, list):
        del container[_index(container, token)]
    elif token in container:
        del container[token]
    else:
        raise PatchRefused(f"Unable to remove nonexistent key: {token}")


def _equal(found: Any, wanted: Any) -> bool:
    """Numbers are compared as JSON text, so 1 and 1.0 differ; a stored 1.0 prints as 1."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_equal(v, wanted[k]) for k, v in found.items())
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_equal, found, wanted))
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return type(found) is type(wanted) and bool(found == wanted)
