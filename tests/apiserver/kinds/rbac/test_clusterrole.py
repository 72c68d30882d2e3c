from __future__ import annotations

from tests.support.kindtools import create


def test_a_selector_that_selects_nothing_known_is_told_twice() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    made = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
    }
    at = "aggregationRule.clusterRoleSelectors[0]"
    assert create({**made, "aggregationRule": {"clusterRoleSelectors": [selector]}}).messages == [
        f"{at}.matchExpressions[0].values: Required value: must be specified when `operator` is "
        f"'In' or 'NotIn'",
        f"{at}: Invalid value: null: invalid label selector.",
    ]
