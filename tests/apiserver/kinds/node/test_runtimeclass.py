from __future__ import annotations

from typing import Any

from tests.support.kindtools import create


def runtime(**scheduling: Any) -> dict[str, Any]:
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "r"},
        "handler": "h",
        "scheduling": scheduling,
    }


def test_old_labels_of_nodes_are_warned_of() -> None:
    assert create(runtime(nodeSelector={"beta.kubernetes.io/os": "l", "a": "b"})).warnings == [
        'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead'
    ]


def test_tolerations_are_told_apart_by_what_they_tolerate() -> None:
    one = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    made = create(runtime(tolerations=[one, {**one, "tolerationSeconds": 1}]))
    assert [e.path for e in made.errors] == ["scheduling.tolerations[1]"]
