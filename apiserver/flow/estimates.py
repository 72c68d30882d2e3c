"""How many seats a request takes (k8s.io/apiserver ``util/flowcontrol/request``): a list by the
bytes that it goes through, a change by the watchers that will hear of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from apiserver.flow.queueset import Work
from apiserver.golang.strconv import whole
from apiserver.meta.gvk import GroupResource
from apiserver.request import RequestInfo

_BYTES_OF_SEAT = 100_000
_MOST_FROM_CACHE = 1_000_000
"""Bytes; a list is sent as it is made, so a large one holds no more at once."""
_MOST_OF_LIST, _MOST_OF_CHANGE = 100, 10
_WATCHERS_OF_SEAT = 10
_LINGERS = 0.005
"""Seconds that telling the watchers of one seat takes."""
ONE = Work()
_CHANGES = frozenset({"create", "update", "patch", "delete"})
_FALSE = ("0", "false")

Query = Mapping[str, Sequence[str]]


class Stock(NamedTuple):
    """Objects of one resource that are at hand, and their bytes."""

    objects: int
    size: int


class Watchers:
    """Who watches what, of one tenant in one worker (``util/flowcontrol/watch_tracker.go``)."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str, str]] = Counter()

    def add(self, info: RequestInfo, query: Query) -> Callable[[], None]:
        """The watch has begun; what is returned says that it is over."""
        if info.resource == "pods" and _of_one_node(query):
            return _nothing  # it hears of few of them, which an index finds
        key = (info.group, info.resource, info.namespace, info.name)
        self._counts[key] += 1

        def over() -> None:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]

        return over

    def of(self, info: RequestInfo) -> int:
        """How many will hear of the change."""
        if not self._counts:
            return 0
        group, resource, counts = info.group, info.resource, self._counts
        watchers = counts[group, resource, "", ""]
        if info.namespace:
            watchers += counts[group, resource, info.namespace, ""]
        if info.name:
            watchers += counts[group, resource, info.namespace, info.name]
        return watchers


def work_of(
    info: RequestInfo,
    query: Query,
    most: int,
    stock: Callable[[GroupResource], Stock | None],
    watchers: Callable[[RequestInfo], int],
) -> Work:
    """``most``: seats of one request at its level, 0 where the level does not say."""
    verb = info.verb
    if verb == "list" or verb == "watch":
        return _of_list(info, query, min(most or _MOST_OF_LIST, _MOST_OF_LIST), stock)
    if verb in _CHANGES and info.is_resource and info.subresource != "token":
        return _of_change(watchers(info), min(most or _MOST_OF_CHANGE, _MOST_OF_CHANGE))
    return ONE


def _of_change(watchers: int, most: int) -> Work:
    if watchers < _WATCHERS_OF_SEAT:
        return ONE
    seats = ceil(watchers / _WATCHERS_OF_SEAT)
    final = min(seats, most)
    return Work(1, final, seats * _LINGERS / final)


def _of_list(
    info: RequestInfo, query: Query, most: int, stock: Callable[[GroupResource], Stock | None]
) -> Work:
    version = _first(query, "resourceVersion")
    watch = info.verb == "watch"
    if watch and version not in ("", "0") and not _true(query, "sendInitialEvents"):
        return ONE
    limit = _first(query, "limit") or "0"
    if not limit.isascii() or not limit.isdigit():
        return Work(most)
    stocked = stock(info.group_resource)
    if stocked is None or not stocked.objects:  # not at hand: nobody has asked for it lately
        return ONE
    stored = "continue" in query or _first(query, "resourceVersionMatch") == "Exact"
    count = min(whole(limit) or stocked.objects, stocked.objects)
    if info.name:
        count = 1
    elif stored and not watch and (query.get("labelSelector") or query.get("fieldSelector")):
        count = max(count, stocked.objects // 2)
    size = count * stocked.size / stocked.objects
    if watch or not stored:
        size = min(size, _MOST_FROM_CACHE)
    return Work(max(1, min(ceil(size / _BYTES_OF_SEAT), most)))


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _true(query: Query, name: str) -> bool:
    return name in query and _first(query, name).lower() not in _FALSE


def _of_one_node(query: Query) -> bool:
    terms = _first(query, "fieldSelector").split(",")
    return any(t.startswith("spec.nodeName=") and t.rstrip("=") != "spec.nodeName" for t in terms)


def _nothing() -> None:
    return None
