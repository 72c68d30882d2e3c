"""What a default role or binding lacks of what it should be (kubernetes
``pkg/registry/rbac/reconciliation``): what is missing comes in, what somebody has added stays.

An object whose annotation `AUTOUPDATE` is "false" is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.authz.coverage import uncovered
from apiserver.meta.objects import Object

AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def protected(existing: Object) -> bool:
    return (existing["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false"


def role_changes(existing: Object, expected: Object) -> Object:
    """The members that the role is to have; empty where it has them. The rules of an aggregated
    role belong to the controller that gathers them."""
    changes = _metadata_changes(existing, expected)
    if (aggregation := expected.get("aggregationRule")) is None:
        held = existing.get("rules") or []
        rules = expected.get("rules") or []
        if held != rules:
            missing = uncovered(held, rules)
            if missing.parts and missing.complete:
                changes["rules"] = [*held, *missing.parts]
        return changes
    held_rule = existing.get("aggregationRule") or {}
    selectors = held_rule.get("clusterRoleSelectors") or []
    absent = _absent(aggregation.get("clusterRoleSelectors") or [], selectors)
    if absent:
        changes["aggregationRule"] = {**held_rule, "clusterRoleSelectors": [*selectors, *absent]}
    return changes


def binding_changes(existing: Object, expected: Object) -> Object | None:
    """The same of a binding; None: it is of another role, and so has to be made anew, because a
    binding's role cannot change."""
    if existing.get("roleRef") != expected.get("roleRef"):
        return None
    changes = _metadata_changes(existing, expected)
    subjects = existing.get("subjects") or []
    if absent := _absent(expected.get("subjects") or [], subjects):
        changes["subjects"] = [*subjects, *absent]
    return changes


def _metadata_changes(existing: Object, expected: Object) -> Object:
    """A value that somebody has changed stays."""
    metadata = existing["metadata"]
    merged = {
        member: {**(expected["metadata"].get(member) or {}), **(metadata.get(member) or {})}
        for member in ("labels", "annotations")
    }
    if all(merged[member] == (metadata.get(member) or {}) for member in merged):
        return {}
    return {"metadata": {**metadata, **merged}}


def _absent(expected: Sequence[Object], held: Sequence[Object]) -> list[Object]:
    return [item for item in expected if item not in held]
