"""Aggregated ClusterRoles (admin, edit, view ...): their rules are those of the ClusterRoles that
their selectors match.

Source: kubernetes ``pkg/controller/clusterroleaggregation``. Pure; a controller (or bootstrap)
writes the result.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from apiserver.kinds.common import selectors
from apiserver.meta.objects import Object, frozen

Rule = dict[str, Any]


def aggregated_rules(role: Object, all_roles: Iterable[Object]) -> list[Rule]:
    """Rules that ``role`` should have: those of the matching roles, in name order per selector,
    each rule once; its own are replaced.

    For a role without aggregationRule: its own rules."""
    label_selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    if not label_selectors:
        return role.get("rules") or []
    by_name = sorted(all_roles, key=lambda r: str(r["metadata"]["name"]))
    rules: list[Rule] = []
    seen: set[Hashable] = set()
    for selector in label_selectors:
        for other in by_name:
            metadata = other["metadata"]
            if metadata["name"] == role["metadata"]["name"] or not selectors.matches(
                selector, metadata.get("labels")
            ):
                continue
            new = [
                (rule, key)
                for rule in other.get("rules") or []
                if (key := frozen(rule)) not in seen
            ]
            rules += [rule for rule, _ in new]
            seen.update(key for _, key in new)
    return rules


def aggregate_all(roles: Iterable[Object]) -> None:
    """Fills in the rules of every aggregated role, in place, until nothing changes (edit gathers
    view, admin gathers edit)."""
    current = list(roles)
    for _ in range(len(current) + 1):
        changed = False
        for role in current:
            rules = aggregated_rules(role, current)
            if rules != (role.get("rules") or []):
                role["rules"], changed = rules, True
        if not changed:
            return
