"""Whether rules cover other rules, in time by their size (k8s.io/component-helpers
``auth/rbac/validation``: Covers).

Upstream compares every combination of group, resource, verb and name of the wanted rules with every
held rule: a rule of 3 MB has 10^12 combinations. Here each value that is wanted gets the set of
held rules that have it, as the bits of a number. A combination is covered when its values' sets
have a rule in common, and so is a whole rule, in one pass over its values. Combinations are looked
at only where no single held rule covers the whole one, and no more than `MOST_PARTS` of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, islice
from operator import and_
from typing import NamedTuple

from apiserver.authz.rules import ALL, Rule, break_down, values

MOST_PARTS = 10_000
"""Combinations that one comparison looks at. The largest bootstrap role, cluster-admin apart, has
some 700."""
MOST_TEXT = 256 * 1024
"""Characters in the values of the missing combinations that are told."""
MOST_PATTERNS = 250_000
"""Pairs of a URL that is wanted and a pattern that is held."""


class Missing(NamedTuple):
    """parts: of the wanted rules, one combination each, that are not held. complete: whether all
    were looked at; where they were not, what was wanted must not be granted."""

    parts: list[Rule]
    complete: bool


def uncovered(owned: Iterable[Rule], requested: Iterable[Rule]) -> Missing:
    """The parts of ``requested`` that no single rule of ``owned`` covers, in the order in which
    they are wanted."""
    owners = list(
        {id(rule): rule for rule in owned}.values()
    )  # many bindings may give the same role
    rules = list(requested)
    urls = set(_values_of(rules, "nonResourceURLs"))
    if len(urls) * sum(len(values(rule, "nonResourceURLs")) for rule in owners) > MOST_PATTERNS:
        return Missing([], False)
    held = _Held(owners, rules, urls)
    parts = chain.from_iterable(break_down(rule) for rule in rules if not held.covers(rule))
    out: list[Rule] = []
    room = MOST_TEXT
    for part in islice(parts, MOST_PARTS):
        if held.covers(part):
            continue
        out.append(part)
        room -= sum(len(text) for texts in part.values() for text in texts)
        if room < 0:
            return Missing(out, False)
    return Missing(out, next(parts, None) is None)


class _Held:
    """For each value that is wanted the held rules that have it: bit i stands for the i-th."""

    def __init__(self, owners: Sequence[Rule], requested: Sequence[Rule], urls: set[str]) -> None:
        self._all = (1 << len(owners)) - 1
        self._verbs = _holders(owners, "verbs", set(_values_of(requested, "verbs")))
        self._groups = _holders(owners, "apiGroups", set(_values_of(requested, "apiGroups")))
        self._resources = _resource_holders(owners, set(_values_of(requested, "resources")))
        self._urls = _url_holders(owners, urls)
        self._unnamed = sum(
            1 << i for i, owner in enumerate(owners) if not values(owner, "resourceNames")
        )
        names = _holders(
            owners, "resourceNames", set(_values_of(requested, "resourceNames")), everything=None
        )
        self._names = {name: holders | self._unnamed for name, holders in names.items()}

    def covers(self, rule: Rule) -> bool:
        """Whether one held rule covers the whole of this one."""
        names = values(rule, "resourceNames")
        sets = chain(
            map(self._verbs.__getitem__, values(rule, "verbs")),
            map(self._groups.__getitem__, values(rule, "apiGroups")),
            map(self._resources.__getitem__, values(rule, "resources")),
            map(self._urls.__getitem__, values(rule, "nonResourceURLs")),
            map(self._names.__getitem__, names) if names else (self._unnamed,),
        )
        return reduce(and_, sets, self._all) != 0


def _values_of(rules: Iterable[Rule], member: str) -> Iterator[str]:
    return chain.from_iterable(values(rule, member) for rule in rules)


def _holders(
    owners: Sequence[Rule], member: str, requested: set[str], everything: str | None = ALL
) -> dict[str, int]:
    """``everything``: the value that stands for all values."""
    holders = dict.fromkeys(requested, 0)
    of_all = 0
    for i, owner in enumerate(owners):
        held = values(owner, member)
        if everything in held:
            of_all |= 1 << i
            continue
        for value in requested.intersection(held):
            holders[value] |= 1 << i
    return {value: bits | of_all for value, bits in holders.items()} if of_all else holders


def _resource_holders(owners: Sequence[Rule], requested: set[str]) -> dict[str, int]:
    """``*/sub`` stands for that subresource of every resource."""
    anywhere = {
        resource: f"*/{resource.partition('/')[2]}" for resource in requested if "/" in resource
    }
    holders = _holders(owners, "resources", requested.union(anywhere.values()))
    return {
        resource: holders[resource] | holders[anywhere.get(resource, resource)]
        for resource in requested
    }


def _url_holders(owners: Sequence[Rule], requested: set[str]) -> dict[str, int]:
    holders = dict.fromkeys(requested, 0)
    for i, owner in enumerate(owners):
        held = set(values(owner, "nonResourceURLs"))
        prefixes = tuple(url.rstrip(ALL) for url in held if url.endswith(ALL))
        for url in requested if prefixes else requested.intersection(held):
            if url in held or url.startswith(prefixes):
                holders[url] |= 1 << i
    return holders
