"""Aggregated ClusterRoles (admin, edit, view ...): their rules are those of the ClusterRoles that
their selectors match.

Source: kubernetes ``pkg/controller/clusterroleaggregation``, which looks at one role at a time, and
at rules as they are: roles that gather each other's pass them round for ever. Here such roles have
what they gather from roles outside of the circle, so what comes out depends on nothing that was
gathered before. Pure; a controller (or bootstrap) writes the result.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from apiserver.kinds.common import selectors
from apiserver.meta.objects import Object, frozen

Rule = dict[str, Any]


def aggregated_rules(roles: Iterable[Object]) -> dict[str, list[Rule]]:
    """``roles``: all there are. The rules that each aggregated one should have, by its name: those
    of the roles that its selectors match, in name order per selector, each rule once; its own are
    replaced."""
    by_name = sorted(roles, key=_name)
    members = {_name(role): _members(role, by_name) for role in by_name if _selectors(role)}
    rules = {_name(role): role.get("rules") or [] for role in by_name if _name(role) not in members}
    for circle in _circles(members):
        outside = [m for role in circle for m in members[role] if m not in circle]
        gathered = _joined(rules[name] for name in outside)
        rules.update((role, list(gathered)) for role in circle)
    return {name: rules[name] for name in members}


def aggregate_all(roles: Sequence[Object]) -> None:
    """Fills in the rules of every aggregated role, in place."""
    rules = aggregated_rules(roles)
    for role in roles:
        if _name(role) in rules:
            role["rules"] = rules[_name(role)]


def _name(role: Object) -> str:
    return str(role["metadata"]["name"])


def _selectors(role: Object) -> list[Object]:
    return (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []


def _members(role: Object, by_name: Sequence[Object]) -> Sequence[str]:
    """The names of other roles that its selectors match."""
    matching = (
        _name(other)
        for selector in _selectors(role)
        for other in by_name
        if selectors.matches(selector, other["metadata"].get("labels"))
    )
    return [name for name in dict.fromkeys(matching) if name != _name(role)]


def _joined(lists: Iterable[list[Rule]]) -> list[Rule]:
    joined: dict[Hashable, Rule] = {}
    for rule in chain.from_iterable(lists):
        joined.setdefault(frozen(rule), rule)
    return list(joined.values())


def _circles(members: Mapping[str, Sequence[str]]) -> Iterator[Sequence[str]]:
    """Aggregated roles that gather each other's rules, over however many others: together, in name
    order; one that gathers nothing of its own is alone. Whoever is gathered from comes first
    (strongly connected components, R. Tarjan 1972)."""
    reached: dict[str, int] = {}  # the earliest role that each leads back to, by its number
    path: dict[str, int] = {}  # roles whose circle is not complete yet, with their numbers
    for start in members:
        ahead = [(start, iter(members[start]))] if start not in reached else []
        while ahead:
            role, rest = ahead[-1]
            if role not in reached:
                reached[role] = path[role] = len(reached)
            following = next(
                (m for m in rest if m in members and (m not in reached or m in path)), ""
            )
            if following and following not in reached:
                ahead.append((following, iter(members[following])))
            elif following:
                reached[role] = min(reached[role], path[following])
            else:
                ahead.pop()
                if ahead:
                    before = ahead[-1][0]
                    reached[before] = min(reached[before], reached[role])
                if reached[role] == path[role]:
                    complete = [path.popitem()[0]]
                    while complete[-1] != role:
                        complete.append(path.popitem()[0])
                    yield sorted(complete)
