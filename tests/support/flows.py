"""FlowSchemas as tests want them."""

from __future__ import annotations

from typing import Any


def flow_schema(
    name: str, level: str, precedence: int, group: str, resources: dict[str, Any]
) -> dict[str, Any]:
    """For what the group's users do with the resources, each user a flow. resources: a resource
    rule but its verbs and namespaces, which are all."""
    rule = {
        "subjects": [{"kind": "Group", "group": {"name": group}}],
        "resourceRules": [{"verbs": ["*"], "namespaces": ["*"], **resources}],
    }
    spec = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [rule],
    }
    return {"metadata": {"name": name}, "spec": spec}
