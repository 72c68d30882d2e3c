"""What is searched of an object, and where a text is found in it.

A text is found where it stands at the beginning of a word: "web" in "my-web-1", not in "cobweb".
Words are letters and digits of any script. Upper and lower case are the same, as are composed and
decomposed characters (Unicode's canonical caseless matching; then composed, so that a mark which is
part of a letter does not end a word).

    names        metadata.name, metadata.uid
    labels       each as ``key=value``
    annotations  likewise, but for kubectl's copy of the whole object
    values       strings and numbers everywhere but in metadata, but for times; and names of members
                 that a type cannot have (the keys of a ConfigMap's data), such as ``app.conf``

Of Secrets nothing but names, labels and annotations is ever searched, whoever asks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import ReadOnlyObject

AREAS = ("names", "labels", "annotations", "values")
SECRETS = GroupResource("", "secrets")
MOST_MATCHES = 3
"""Of one object that an answer shows."""
WORD = re.compile(r"[^\W_]+")

_BEFORE, _LENGTH = 30, 120
"""Characters of an excerpt: before what was found, and in all."""
_COPY = "kubectl.kubernetes.io/last-applied-configuration"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MEMBER = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_TYPE = ("apiVersion", "kind", "metadata")


class Text(NamedTuple):
    """A searched part of an object. path: as in ``spec.containers[0].image``."""

    area: str
    path: str
    text: str


class Match(NamedTuple):
    area: str
    path: str
    excerpt: str


def fold(text: str) -> str:
    """Equal for texts that are the same for a search."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


@dataclass(frozen=True, slots=True)
class Needle:
    """A text that is looked for. folded: it, without spaces around it, not empty."""

    folded: str

    @staticmethod
    def of(text: str) -> Needle:
        return Needle(fold(text).strip())

    def find(self, folded: str) -> int:
        """Where it stands in a folded text at the beginning of a word; -1: nowhere."""
        inner = self.folded[0].isalnum()
        at = folded.find(self.folded)
        while inner and at > 0 and folded[at - 1].isalnum():
            at = folded.find(self.folded, at + 1)
        return at

    def matches(
        self, resource: GroupResource, obj: ReadOnlyObject, areas: Sequence[str]
    ) -> list[Match]:
        """The first ones, in the order of the areas and of the object; none: it is not found."""
        found = (
            Match(area, path, self._excerpt(text, folded, at))
            for area, path, text in texts(resource, obj)
            if area in areas and (at := self.find(folded := fold(text))) >= 0
        )
        return list(islice(found, MOST_MATCHES))

    def _excerpt(self, text: str, folded: str, at: int) -> str:
        whole = text if len(text) == len(folded) else folded  # a place in one is one in the other
        start = max(at - _BEFORE, 0)
        part = whole[start : start + _LENGTH]
        part = "".join(c if c.isprintable() else " " for c in part)
        return f"{'…' * (start > 0)}{part}{'…' * (start + _LENGTH < len(whole))}"


def texts(resource: GroupResource, obj: ReadOnlyObject) -> Iterator[Text]:
    """What is searched of an object of the resource, by the name that it is stored under."""
    metadata = obj["metadata"]
    for name in ("name", "uid"):
        yield Text("names", f"metadata.{name}", metadata.get(name) or "")
    for area in ("labels", "annotations"):
        for key, value in (metadata.get(area) or {}).items():
            if key != _COPY:
                yield Text(area, f"metadata.{area}[{key}]", f"{key}={value}")
    if resource != SECRETS:
        yield from _values({k: v for k, v in obj.items() if k not in _TYPE}, "")


def _values(root: Any, at: str) -> Iterator[Text]:
    """In the order of the object; without recursion, because a client chooses how deep it is."""
    ahead = [(at, root)]
    while ahead:
        path, value = ahead.pop()
        if isinstance(value, dict):
            for name in value:
                if not _MEMBER.fullmatch(name):
                    yield Text("values", f"{path}[{name}]", name)
            ahead += reversed([(_below(path, name), item) for name, item in value.items()])
        elif isinstance(value, list):
            ahead += reversed([(f"{path}[{i}]", item) for i, item in enumerate(value)])
        elif isinstance(value, str):
            if value and not _TIME.fullmatch(value):
                yield Text("values", path, value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield Text("values", path, str(value))


def _below(path: str, name: str) -> str:
    if not _MEMBER.fullmatch(name):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name
