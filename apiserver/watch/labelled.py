"""Which objects of a cache have which label, and the label sets that they share.

So a selector that demands a label's value looks at those that have it, however many others there
are. Objects that are labelled alike, as those of one workload are, share one set.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from apiserver.watch.entry import Labels

SETS = 100_000
"""Label sets that are known for being shared."""

Order = tuple[str, str]
"""Where an object stands in key order (`apiserver.storage.interface.key_order`)."""


class Demand(NamedTuple):
    """The label has one of the values."""

    key: str
    values: Sequence[str]

    def holds(self, labels: Labels) -> bool:
        return labels.get(self.key) in self.values


class Part(NamedTuple):
    """Of the objects with one value those of a namespace: ``orders[begin:end]``."""

    orders: Sequence[Order]
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


class Labelled:
    """Belongs to a cache."""

    def __init__(self) -> None:
        self._sets: dict[tuple[tuple[str, str], ...], Labels] = {}
        self._orders: dict[str, dict[str, list[Order]]] = {}

    def add(self, labels: Labels, order: Order) -> Labels:
        """An equal set, shared with others."""
        for key, value in labels.items():
            orders = self._orders.setdefault(key, {}).setdefault(value, [])
            if orders and order < orders[-1]:
                insort(orders, order)
            else:
                orders.append(order)
        if len(self._sets) >= SETS:
            self._sets.clear()
        return self._sets.setdefault(tuple(labels.items()), labels)

    def remove(self, labels: Labels, order: Order) -> None:
        """``labels``: with which it was added."""
        for key, value in labels.items():
            values = self._orders[key]
            orders = values[value]
            del orders[bisect_left(orders, order)]
            if not orders:
                del values[value]
                if not values:
                    del self._orders[key]

    def values(self, key: str) -> Mapping[str, Sequence[Order]]:
        """Of a label all values that there are, with the objects, in key order, that have them."""
        return self._orders.get(key, {})

    def parts(self, demand: Demand, namespace: str) -> list[Part]:
        """The objects of a namespace ("": of all) that fulfil the demand."""
        values = self.values(demand.key)
        found = [values[value] for value in dict.fromkeys(demand.values) if value in values]
        return [within(orders, namespace) for orders in found]


def within(orders: Sequence[Order], namespace: str) -> Part:
    """``orders``: sorted."""
    if not namespace:
        return Part(orders, 0, len(orders))
    first = bisect_left(orders, (f"{namespace}/", ""))
    return Part(orders, first, bisect_left(orders, (f"{namespace}/\0", ""), lo=first))


def together(parts: Iterable[Part]) -> list[Order]:
    """Sorted."""
    found = [order for orders, begin, end in parts for order in orders[begin:end]]
    found.sort()  # which takes runs as they are
    return found
