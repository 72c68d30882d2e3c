from __future__ import annotations

from math import inf
from typing import Any

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import authorize, rules_for
from apiserver.authz.rules import length
from apiserver.user import User
from tests.support.roles import Roles, account, binding, group, role, rule, urls, user

READER = role(
    "reader",
    rule("get list", "configmaps pods/log"),
    rule("update", "deployments", "apps", "web"),
    namespace="ns",
)
NAMED = Roles(
    [READER, binding("reader", READER, user("u"), group("g"), account("robot"), namespace="ns")]
)


def ask(
    who: str = "u",
    verb: str = "get",
    resource: str = "configmaps",
    *,
    groups: str = "",
    **more: Any,
) -> Attributes:
    return Attributes(
        User(who, groups=tuple(groups.split())),
        verb,
        resource=resource,
        **{"namespace": "ns", **more},
    )


@pytest.mark.parametrize(
    ("question", "to"),
    [
        (ask(), 'User "u"'),
        (ask("someone", "list", groups="x g"), 'Group "g"'),
        (ask("system:serviceaccount:ns:robot", "list"), 'ServiceAccount "robot/ns"'),
        (ask(resource="pods", subresource="log"), 'User "u"'),
        (ask(verb="update", resource="deployments", group="apps", name="web"), 'User "u"'),
    ],
)
async def test_a_yes_says_by_which_binding(question: Attributes, to: str) -> None:
    decision = await authorize(question, NAMED)
    assert decision.allowed
    assert decision.reason == f'RBAC: allowed by RoleBinding "reader/ns" of Role "reader" to {to}'


@pytest.mark.parametrize(
    "question",
    [
        ask(verb="delete"),
        ask("u2"),
        ask(resource="pods"),
        ask(resource="pods", subresource="exec"),
        ask(group="apps"),
        ask(namespace="other"),
        ask(namespace=""),
        ask(verb="update", resource="deployments", group="apps", name="other"),
        ask(verb="update", resource="deployments", group="apps"),
        ask("system:serviceaccount:other:robot"),
        Attributes(User("u"), "get", path="/configmaps", is_resource=False),
    ],
)
async def test_everything_else_is_a_silent_no(question: Attributes) -> None:
    assert await authorize(question, NAMED) == Decision(False)


async def test_cluster_bindings_hold_everywhere_and_come_first() -> None:
    everything = role("all", rule("*", "*", "*"), urls("*", "*"))
    reader = Roles([everything, binding("everyone", everything, user("u")), *NAMED.objects])
    for question in (
        ask(),
        ask(namespace="other"),
        ask(namespace=""),
        Attributes(User("u"), "post", path="/x", is_resource=False),
    ):
        decision = await authorize(question, reader)
        assert (
            decision.reason
            == 'RBAC: allowed by ClusterRoleBinding "everyone" of ClusterRole "all" to User "u"'
        )


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/metrics", True),
        ("/metrics/x", False),
        ("/custom", False),
        ("/custom/", True),
        ("/custom/deep/x", True),
    ],
)
async def test_urls_match_whole_or_by_prefix(path: str, allowed: bool) -> None:
    paths = role("paths", urls("get", "/metrics /custom/*"))
    reader = Roles([paths, binding("paths", paths, user("u"))])
    assert (
        await authorize(Attributes(User("u"), "get", path=path, is_resource=False), reader)
    ).allowed is allowed


async def test_a_star_before_a_subresource_means_any_resource() -> None:
    status = role("status", rule("get", "*/status", "*"))
    reader = Roles([status, binding("status", status, user("u"))])
    assert (await authorize(ask(resource="pods", subresource="status"), reader)).allowed
    assert not (await authorize(ask(resource="pods"), reader)).allowed


async def test_a_missing_role_shows_only_when_nothing_else_allows() -> None:
    lost = Roles([binding("a-lost", role("gone"), user("u")), *NAMED.objects])
    assert (await authorize(ask(), lost)).reason.startswith("RBAC: allowed by RoleBinding")
    assert await authorize(ask(verb="delete"), lost) == Decision(
        False, 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )
    lost.add(binding("b-lost", role("gone2", namespace="ns"), user("u"), namespace="ns"))
    reason = (await authorize(ask(verb="delete"), lost)).reason
    missing = 'role.rbac.authorization.k8s.io "gone2" not found'
    assert reason == f'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, {missing}]'


async def test_service_accounts_of_cluster_bindings_need_a_namespace() -> None:
    reader = Roles(
        [
            READER,
            binding("x", role("c", rule("*", "*", "*")), account("robot"), account("other", "ns")),
            role("c", rule("*", "*", "*")),
        ]
    )
    assert not (await authorize(ask("system:serviceaccount:ns:robot", "delete"), reader)).allowed
    assert (await authorize(ask("system:serviceaccount:ns:other", "delete"), reader)).allowed


async def test_rules_for_gathers_all_rules_of_both_scopes() -> None:
    basic = role("basic", rule("create", "selfsubjectreviews", "authentication.k8s.io"))
    reader = Roles([basic, binding("basic", basic, group("system:authenticated")), *NAMED.objects])
    found = await rules_for(User("u", groups=("system:authenticated",)), "ns", reader)
    assert found.rules == [*basic["rules"], *READER["rules"]]
    assert (await rules_for(User("u"), "", reader)).rules == []


async def test_rules_are_gathered_up_to_a_number_of_characters() -> None:
    basic = role("basic", *(rule("create", f"r{i}", "example.com") for i in range(10)))
    bindings = [binding(f"b{i}", basic, group("g")) for i in range(5)]
    reader, user = Roles([basic, *bindings]), User("u", groups=("g",))
    size = sum(map(length, basic["rules"]))
    for most, times in ((inf, 5), (5 * size, 5), (5 * size - 1, 4), (2 * size, 2), (1, 0)):
        found = await rules_for(user, "", reader, most)
        assert found.rules == [*basic["rules"]] * times
        assert found.incomplete is (times < 5) and len(found.errors) == (times < 5)
