from __future__ import annotations

import copy

from tests.support.kindtools import create, update


def test_conditions_are_whole() -> None:
    old = create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1},
        }
    ).obj
    new = copy.deepcopy(old)
    new["status"]["conditions"] = [{"type": "a", "status": "Maybe"}]
    assert update(new, old, "status").messages == [
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", '
        '"True", "Unknown"',
        "status.conditions[0].lastTransitionTime: Required value",
        "status.conditions[0].reason: Required value",
    ]
