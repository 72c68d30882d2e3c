"""What is known of a cached object without decoding it: its key, its labels, and what its text has
in its first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter

import orjson

from apiserver.storage.interface import key_order
from apiserver.watch.entry import Entry

Glance = Callable[[Entry], str | None]
"""What objects are ordered by for one JSONPath, None where it leads to no value."""

_LABEL = re.compile(r"\.metadata\.labels\.((?:[^\s.,\[\]$@{}\\*]|\\.)+)")
_CREATED = re.compile(
    rb'"metadata":\{(?:"(?:resourceVersion|name|generateName|namespace|selfLink|uid)":"[^"\\]*",'
    rb'|"generation":\d+,)*"creationTimestamp":"([^"\\]*)"'
)
"""In a stored object, which begins with kind, apiVersion and metadata (`Registry.encode`)."""


def glance_at(path: str) -> Glance | None:
    """None where the path leads to what has to be decoded."""
    if path in _KNOWN:
        return _KNOWN[path]
    label = _LABEL.fullmatch(path)
    if label is None:
        return None
    name = label[1].replace("\\", "")
    return lambda entry: entry.labels.get(name)


def _namespace(entry: Entry) -> str | None:
    """As in lists that are not sorted."""
    return key_order(entry.namespace, "")[0] if entry.namespace else None


def _created(entry: Entry) -> str | None:
    found = _CREATED.search(entry.json)
    if found is not None:
        return found[1].decode()
    created: str | None = orjson.loads(entry.json)["metadata"].get("creationTimestamp")
    return created


_KNOWN: dict[str, Glance] = {
    ".metadata.name": attrgetter("name"),
    ".metadata.namespace": _namespace,
    ".metadata.creationTimestamp": _created,
}
