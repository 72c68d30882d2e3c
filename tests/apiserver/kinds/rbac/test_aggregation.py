from __future__ import annotations

from apiserver.kinds.rbac.aggregation import aggregate_all, aggregated_rules
from apiserver.meta.objects import Object


def role(name: str, *verbs: str, gathers: str = "", **labels: str) -> Object:
    made: Object = {
        "metadata": {"name": name, "labels": labels},
        "rules": [{"verbs": [v]} for v in verbs],
    }
    if gathers:
        made["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {gathers: "true"}}]}
    return made


def test_rules_come_from_matching_roles_in_name_order_each_once() -> None:
    roles = [role("z", "c", "a", to="true"), role("a", "a", "b", to="true"), role("other", "x")]
    gathering = role("g", "old", gathers="to", to="true")
    assert aggregated_rules(gathering, [*roles, gathering]) == [
        {"verbs": ["a"]},
        {"verbs": ["b"]},
        {"verbs": ["c"]},
    ]


def test_a_plain_role_keeps_its_rules() -> None:
    assert aggregated_rules(role("p", "x"), []) == [{"verbs": ["x"]}]


def test_what_is_gathered_is_gathered_on() -> None:
    admin, edit, view = (
        role("admin", gathers="a"),
        role("edit", gathers="e", a="true"),
        role("view", gathers="v", e="true"),
    )
    aggregate_all(
        [admin, edit, view, role("base", "get", v="true"), role("more", "create", e="true")]
    )
    assert view["rules"] == [{"verbs": ["get"]}]
    assert edit["rules"] == admin["rules"] == [{"verbs": ["create"]}, {"verbs": ["get"]}]
