from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.rbac.aggregation import aggregate_all, aggregated_rules
from apiserver.meta.objects import Object


def role(name: str, *verbs: str, gathers: str = "", **labels: str) -> Object:
    """gathers: the labels of others that it wants, with spaces between them."""
    made: Object = {
        "metadata": {"name": name, "labels": labels},
        "rules": [{"verbs": [v]} for v in verbs],
    }
    if gathers:
        wanted = [{"matchLabels": {label: "true"}} for label in gathers.split()]
        made["aggregationRule"] = {"clusterRoleSelectors": wanted}
    return made


def verbs(rules: list[dict[str, Any]]) -> str:
    return "".join(verb for rule in rules for verb in rule["verbs"])


def test_rules_come_from_matching_roles_in_name_order_each_once() -> None:
    roles = [role("z", "c", "a", to="true"), role("a", "a", "b", "a", to="true")]
    others = [role("other", "x"), role("g", "old", gathers="to", to="true")]
    assert {n: verbs(rules) for n, rules in aggregated_rules([*roles, *others]).items()} == {
        "g": "abc"
    }


def test_plain_roles_keep_their_rules() -> None:
    plain = role("q", "x")
    plain["aggregationRule"] = {"clusterRoleSelectors": []}
    assert aggregated_rules([role("p", "x"), plain]) == {}


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


def test_roles_that_gather_each_others_rules_have_what_others_give_to_them() -> None:
    """And nothing that only the circle has: a right that is taken from where it came from ends."""
    circle = [
        role("a", "x", gathers="one", three="true"),
        role("b", "y", gathers="two", one="true"),
        role("c", "z", gathers="three given", two="true", last="true"),
        role("d", "w", gathers="last"),
    ]
    given_to_c = role("leaf", "l", "m", given="true")
    expected = dict.fromkeys("abcd", "lm")
    for _ in range(3):
        assert {n: verbs(r) for n, r in aggregated_rules([*circle, given_to_c]).items()} == expected
        aggregate_all([*circle, given_to_c])
    aggregate_all(circle)
    assert not any(one["rules"] for one in circle)


def test_a_long_way_is_gone_to_its_end() -> None:
    roles = [role(f"r{i:04}", gathers=f"l{i + 1}", **{f"l{i}": "true"}) for i in range(3000)]
    aggregate_all([*roles, role("leaf", "x", l3000="true")])
    assert verbs(roles[0]["rules"]) == "x"


_edges = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=24)


@given(edges=_edges, plain=st.sets(st.integers(0, 7)))
def test_rules_are_those_of_all_that_can_be_reached(
    edges: set[tuple[int, int]], plain: set[int]
) -> None:
    roles = []
    for i in range(8):
        wanted = " ".join(f"l{to}" for by, to in sorted(edges) if by == i and i not in plain)
        roles.append(role(f"r{i}", str(i), gathers=wanted, **{f"l{i}": "true"}))
    leaves = {i for i in range(8) if "aggregationRule" not in roles[i]}

    def reached(i: int, seen: frozenset[int] = frozenset()) -> set[int]:
        if i in leaves:
            return {i}
        ahead = {to for by, to in edges if by == i} - seen - {i}
        return set().union(*(reached(to, seen | {i}) for to in ahead))

    found = aggregated_rules(roles)
    assert {name: set(verbs(rules)) for name, rules in found.items()} == {
        f"r{i}": set(map(str, reached(i))) for i in range(8) if i not in leaves
    }
    aggregate_all(roles)
    assert aggregated_rules(roles) == found, "nothing is left to do"
