"""What an encoding does: read a body, write one object, a list part by part, a watch event.

An encoding has no state. What it reads and writes are plain JSON values; which kind of object
they are is checked by its callers (`apiserver.endpoints.bodies`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from apiserver.codec import body
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.meta.raw import Way
from apiserver.schema.types import Schema


@dataclass(slots=True)
class ListBody:
    """head: the list without its items, kind and apiVersion first; key: "items" or "rows"; make:
    yields the items anew at each call; count: how many; item_kind: for encodings that must know it;
    schema: of an item, where items do not name their kind."""

    head: Object
    key: str
    make: Callable[[], Iterator[Object]]
    count: int
    item_kind: GroupVersionKind
    schema: Schema | None = None


class Encoding(ABC):
    """media_type: without parameters; stored: whether storage keeps objects in it, so that their
    bytes may go out as they are."""

    media_type: ClassVar[str]
    stored: ClassVar[bool] = False

    @abstractmethod
    def weight(self, data: bytes, schema: Schema) -> int:
        """How much work a body is (`apiserver.registry.weight`), before it is read."""

    @abstractmethod
    def parse(
        self, data: bytes, kind: GroupVersionKind, *, merge: bool = False
    ) -> tuple[Any, list[str]]:
        """(value, errors about duplicate members). ``kind``: for bodies that do not name it;
        ``merge``: as for `apiserver.codec.json.loads`. Raises BodyError."""

    def read(self, data: bytes, kind: GroupVersionKind, *, merge: bool) -> tuple[Any, list[str]]:
        """As `parse`, of an object to be stored. Raises BadRequest in kube-apiserver's words."""
        try:
            return self.parse(data, kind, merge=merge)
        except body.BodyError as e:
            raise body.unrecognized(e, kind.kind, data) from None

    def read_options(self, data: bytes, kind: GroupVersionKind) -> Any:
        """As `parse`, of options that are sent as a body. Raises BodyError."""
        return self.parse(data, kind)[0]

    def keep_raw(self, value: Any, data: bytes, way: Way) -> Any:
        """``value``, read from ``data``, with RawObjects where ``way`` leads to. Where ``data`` is
        not JSON, they have the text that Go would write."""
        return value

    def type_error(self, text: str, value: Any, kind: GroupVersionKind) -> str:
        """What this decoder says where `apiserver.schema.decode` said ``text`` of ``value``."""
        return text

    def unknown_fields(self, errors: list[str], value: Any) -> list[str]:
        """Likewise of unknown members."""
        return errors

    @abstractmethod
    def render(self, value: Any, *, pretty: bool = False) -> bytes:
        """One object, whole. ``pretty``: for people's eyes, where the encoding has two forms."""

    @abstractmethod
    def list_parts(self, body: ListBody, *, pretty: bool = False) -> Iterator[bytes]:
        """A list, made item by item: it is never held as values, and a large one not even as
        bytes."""

    def event(self, event_type: str, obj: Any) -> bytes:
        """One event of a watch. event_type: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
        raise NotImplementedError(f"{self.media_type} carries no streams")


class SizedItems:
    """Items encoded while they are asked for; their number is known beforehand."""

    def __init__(self, body: ListBody, encode: Callable[[Object], bytes]) -> None:
        self._body, self._encode = body, encode

    def __len__(self) -> int:
        return self._body.count

    def __iter__(self) -> Iterator[bytes]:
        return map(self._encode, self._body.make())
