"""Shuffle sharding: each flow is dealt a few of many queues, so that a flow that floods shares all
of its queues with few others (https://kubernetes.io/docs/concepts/cluster-administration/
flow-control/)."""

from __future__ import annotations

from bisect import insort
from functools import lru_cache
from hashlib import sha256

Hand = tuple[int, ...]


@lru_cache(1024)
def hand_of(schema: str, distinguisher: str, deck: int, size: int) -> Hand:
    """The queues of the flow, ``size`` different ones of ``deck``; which they are, kube-apiserver
    would say as well."""
    digest = sha256(f"{schema}\0{distinguisher}".encode("utf-8", "surrogatepass")).digest()
    return deal(int.from_bytes(digest[:8], "little"), deck, size)


def deal(number: int, deck: int, size: int) -> Hand:
    """Cards from 0 to ``deck`` - 1, none twice: the number's digits, in a base that falls by one
    with each card, say which of the cards that are left comes next."""
    hand: list[int] = []
    taken: list[int] = []
    for left in range(deck, deck - size, -1):
        number, card = divmod(number, left)
        for other in taken:  # in ascending order
            if card < other:
                break
            card += 1
        hand.append(card)
        insort(taken, card)
    return tuple(hand)
