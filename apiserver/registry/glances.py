"""What is known of a cached object without decoding it: its key, its labels, when it was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from apiserver.storage.interface import key_order
from apiserver.watch.entry import Entry

Glance = Callable[[Sequence[Entry]], list[str | None]]
"""What each is ordered by for one JSONPath, None where it leads to no value."""

_LABEL = re.compile(r"\.metadata\.labels\.((?:[^\s.,\[\]$@{}\\*]|\\.)+)")


def glance_at(path: str) -> Glance | None:
    """None where the path leads to what has to be decoded."""
    if path in _KNOWN:
        return _KNOWN[path]
    name = label_at(path)
    return None if name is None else lambda entries: [entry.labels.get(name) for entry in entries]


def label_at(path: str) -> str | None:
    """The label that it leads to."""
    found = _LABEL.fullmatch(path)
    return None if found is None else found[1].replace("\\", "")


def _names(entries: Sequence[Entry]) -> list[str | None]:
    return [entry.name for entry in entries]


def _namespaces(entries: Sequence[Entry]) -> list[str | None]:
    """As in lists that are not sorted."""
    places = {entry.namespace for entry in entries}
    ordered = {place: key_order(place, "")[0] if place else None for place in places}
    return [ordered[entry.namespace] for entry in entries]


def _created(entries: Sequence[Entry]) -> list[str | None]:
    return [entry.created for entry in entries]


_KNOWN: dict[str, Glance] = {
    ".metadata.name": _names,
    ".metadata.namespace": _namespaces,
    ".metadata.creationTimestamp": _created,
}
