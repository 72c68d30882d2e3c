"""JSON patch: the `jsonpatch` library (RFC 6902) with the liberties of evanphx/json-patch v4, which
kube-apiserver uses and clients see.

``replace`` of a missing member adds it, ``test`` of a missing member against null succeeds,
``copy`` of a missing member adds null, indices may be negative, the text before the first slash is
ignored. Whatever fails gives a client one and the same 422; why it failed is told in that library's
words where a webhook has sent the patch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar

import jsonpatch
import orjson

from apiserver.errors import RequestEntityTooLarge
from apiserver.golang.strconv import go_quote, whole
from apiserver.meta.objects import copy_json
from apiserver.meta.raw import without_texts
from apiserver.patch.values import PatchRefused

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
MAX_SHIFTED = 500_000_000
"""Items of lists that make room or move up, in one patch; half a second's work."""
_INDEX = re.compile(r"[+-]?[0-9]{1,18}")

Operation = dict[str, Any]


class TestFailed(PatchRefused):
    """An operation ``test`` found something else."""


def apply_json_patch(doc: dict[str, Any], operations: list[Operation]) -> Any:
    """The patched document, an object unless the whole was replaced by a list; ``doc`` is not
    changed.

    Raises RequestEntityTooLarge beyond 10,000 operations, PatchRefused when one does not apply,
    TestFailed when that is a ``test``."""
    if len(operations) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            f"Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}"
        )
    document = _Document(without_texts(doc))
    try:
        GoPatch(operations, pointer_cls=GoPointer).apply(document, in_place=True)
    except jsonpatch.JsonPatchException as e:
        raise PatchRefused(str(e)) from None
    return document.root


class _Absent(PatchRefused):
    """What a path leads through is not there."""


class GoPointer(jsonpatch.JsonPointer):
    """Takes any text, and walks through what is there."""

    def __init__(self, pointer: object) -> None:
        if not isinstance(pointer, str):
            raise TypeError  # which the library takes for an invalid path
        self.parts = [t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]]

    def to_last(self, doc: Any) -> tuple[Any, str]:
        """(container, last token). Raises PatchRefused."""
        if not self.parts:
            raise _Absent("missing value")
        for token in self.parts[:-1]:
            try:
                doc = _get(doc, token)
            except PatchRefused:
                doc = None
            if not isinstance(doc, dict | list):
                raise _Absent("missing value")
        return doc, self.parts[-1]


class _Document:
    """What a patch changes, and how much it may."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied = 0
        self._shifted = 0

    def put(self, pointer: GoPointer, value: Any) -> None:
        container, token = pointer.to_last(self.root)
        self._shift(container)
        _add(container, token, value)

    def take(self, container: Any, token: str) -> None:
        self._shift(container)
        _remove(container, token)

    def _shift(self, container: Any) -> None:
        if isinstance(container, list):
            self._shifted += len(container)
            if self._shifted > MAX_SHIFTED:
                raise PatchRefused(f"Unable to move more than {MAX_SHIFTED} items of lists")

    def copied(self, value: Any) -> Any:
        if value is not None:
            self._copied += len(orjson.dumps(value))
        if self._copied > MAX_COPIED_BYTES:
            raise PatchRefused(
                f"Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._copied}"
            )
        return copy_json(value)


class _GoOperation(jsonpatch.PatchOperation):
    """Values of operations are copied in, so that a patch can be applied again."""

    pointer: GoPointer

    def value(self) -> Any:
        return self.operation.get("value")

    def source(self) -> GoPointer:
        """Raises PatchRefused."""
        try:
            return GoPointer(self.operation.get("from"))
        except TypeError:
            raise PatchRefused(
                f"{self.operation['op']} operation failed to decode from: operation, missing from "
                f"field: missing value"
            ) from None

    @contextmanager
    def telling(self, absent: str, otherwise: str) -> Iterator[None]:
        """Puts what was tried before the reason why it failed. ``absent``: where the path leads
        nowhere; ``otherwise``: for any other reason."""
        try:
            yield
        except _Absent as error:
            raise PatchRefused(
                f"{self.operation['op']} operation does not apply: {absent}: {error.why}"
            ) from None
        except PatchRefused as error:
            raise PatchRefused(f"{otherwise}: {error.why}" if otherwise else error.why) from None


class _Add(_GoOperation):
    def apply(self, document: _Document) -> _Document:
        path = self.location
        with self.telling(f'doc is missing path: "{path}"', f"error in add for path: '{path}'"):
            document.put(self.pointer, copy_json(self.value()))
        return document


class _Remove(_GoOperation):
    def apply(self, document: _Document) -> _Document:
        path = self.location
        with self.telling(f'doc is missing path: "{path}"', f"error in remove for path: '{path}'"):
            document.take(*self.pointer.to_last(document.root))
        return document


class _Replace(_GoOperation):
    def apply(self, document: _Document) -> _Document:
        value = copy_json(self.value())
        if self.location == "":
            if not isinstance(value, dict | list):
                raise PatchRefused("replace operation value must be object or array")
            document.root = value
            return document
        with self.telling(f"doc is missing path: {self.location}", ""):
            container, token = self.pointer.to_last(document.root)
        try:
            container[_index(container, token) if isinstance(container, list) else token] = value
        except PatchRefused:
            raise PatchRefused(
                f"replace operation does not apply: doc is missing key: {self.location}: missing "
                f"value"
            ) from None
        return document


class _Move(_GoOperation):
    def apply(self, document: _Document) -> _Document:
        source, path = self.source(), self.location
        with self.telling(f"doc is missing from path: {source.path}", ""):
            container, token = source.to_last(document.root)
        with self.telling("", f"error in move for path: '{token}'"):
            value = _get(container, token)
            document.take(container, token)
        missing = f"doc is missing destination path: {path}"
        with self.telling(missing, f"error in move for path: '{path}'"):
            document.put(self.pointer, value)
        return document


class _Copy(_GoOperation):
    def apply(self, document: _Document) -> _Document:
        source = self.source()
        missing = f"doc is missing from path: {source.path}"
        with self.telling(missing, f"error in copy for from: '{source.path}'"):
            value = _get(*source.to_last(document.root))
        copied = document.copied(value)
        missing = f"doc is missing destination path: {self.location}"
        with self.telling(missing, "error while adding value during copy"):
            document.put(self.pointer, copied)
        return document


class _Test(_GoOperation):
    def apply(self, document: _Document) -> _Document:
        path, tested = self.location, document.root
        if path:
            with self.telling(f"is missing path: {path}", f"error in test for path: '{path}'"):
                tested = _get(*self.pointer.to_last(document.root))
        if not _equal(tested, self.value()):
            raise TestFailed(f"testing value {path} failed: test failed")
        return document


class GoPatch(jsonpatch.JsonPatch):
    """Applies to a `_Document`."""

    operations: ClassVar[MappingProxyType[str, type[_GoOperation]]] = MappingProxyType(
        {
            "add": _Add,
            "remove": _Remove,
            "replace": _Replace,
            "move": _Move,
            "copy": _Copy,
            "test": _Test,
        }
    )

    def _get_operation(self, operation: Any) -> Any:
        kind = operation.get("op") if isinstance(operation, dict) else None
        if not isinstance(kind, str) or kind not in self.operations:
            name = kind if isinstance(kind, str) else "unknown"
            raise PatchRefused(f"Unexpected kind: {name}")
        if not isinstance(operation.get("path"), str):
            raise PatchRefused(f"{kind} operation failed to decode path: missing value")
        return super()._get_operation(operation)  # type: ignore[misc]  # the stubs lack it


def _index(items: list[Any], token: str, size: int | None = None) -> int:
    """Position that ``token`` names among ``size`` places (default: the items); negative ones count
    from the end."""
    size = len(items) if size is None else size
    if not _INDEX.fullmatch(token):
        raise PatchRefused(f"strconv.Atoi: parsing {go_quote(token)}: invalid syntax")
    if not -size <= whole(token) < size:
        raise PatchRefused(
            f"Unable to access invalid index: {whole(token)}: invalid index referenced"
        )
    return whole(token) % size


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
        raise PatchRefused(f"Unable to remove nonexistent key: {token}: missing value")


def _equal(a: Any, b: Any) -> bool:
    """Numbers are compared as JSON text, so 1 and 1.0 differ; a stored 1.0 prints as 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, float) and a.is_integer():
        a = int(a)
    return type(a) is type(b) and bool(a == b)
