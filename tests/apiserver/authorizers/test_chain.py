"""Several authorizers: who decides, and what is told when nobody does."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.authorizers.chain import Authority
from apiserver.authorizers.links import AlwaysAllow, AlwaysDeny, Named, Stateless, World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.platformroles import LOOKING, METRICS_READERS, TENANT_ADMINS
from apiserver.request import TENANCY_GROUP
from apiserver.user import AUTHENTICATED, MASTERS, User

WORLD = World(1, "acme", None)  # type: ignore[arg-type]  # nobody reads anything
ASK = Attributes(User("eve"), "get", resource="pods")


class Says(Stateless):
    def __init__(self, decision: Decision, rules: UserRules | None = None) -> None:
        self.decision, self.rules = decision, rules or UserRules([], [])
        self.asked = 0

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        self.asked += 1
        return self.decision

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        return self.rules


def chain(*links: Any) -> Authority:
    authority = Authority()
    authority.use([Named(f"l{i}", "Webhook", link) for i, link in enumerate(links)])
    return authority


YES, NO = Decision(True, "y", authorizer="a"), Decision(False, "n", True, authorizer="b")
PASS = Decision(False)


@pytest.mark.parametrize(
    ("decisions", "result", "asked"),
    [
        ([YES, NO], YES, [1, 0]),
        ([NO, YES], NO, [1, 0]),
        ([PASS, YES], YES, [1, 1]),
        ([PASS, NO], NO, [1, 1]),
        ([PASS, PASS], Decision(False), [1, 1]),
        ([Decision(False, "a"), Decision(False, "b")], Decision(False, "a\nb"), [1, 1]),
        ([Decision(False, error="e"), YES], YES, [1, 1]),
        ([Decision(False, error="e"), PASS], Decision(False, error="e"), [1, 1]),
        (
            [Decision(False, "r", error="e"), Decision(False, error="f")],
            Decision(False, "r", error="[e, f]"),
            [1, 1],
        ),
    ],
)
async def test_the_first_that_decides_has_decided(
    decisions: list[Decision], result: Decision, asked: list[int]
) -> None:
    links = [Says(decision) for decision in decisions]
    assert await chain(*links).authorize(WORLD, ASK) == result
    assert [link.asked for link in links] == asked


async def test_masters_come_before_all() -> None:
    link = Says(NO)
    asked = ASK._replace(user=User("root", groups=(MASTERS,)))
    assert await chain(link).authorize(WORLD, asked) == Decision(True, authorizer=MASTERS)
    assert link.asked == 0


MINE = ASK._replace(
    user=User("eve", groups=(AUTHENTICATED,)),
    verb="create",
    group="tenancy.polyplane.dev",
    resource="selftenantreviews",
)
REVIEW = MINE._replace(group="relations.polyplane.dev", resource="dependentreviews")
SEARCH = MINE._replace(group="search.polyplane.dev", resource="objectsearches")
LOG = MINE._replace(group="history.polyplane.dev", resource="retainedlogs", verb="get")
HOME = WORLD._replace(name="default")


@pytest.mark.parametrize(
    ("world", "asked", "allowed"),
    [
        (HOME, REVIEW, True),
        (WORLD, REVIEW, True),
        (WORLD, SEARCH, True),
        (WORLD, SEARCH._replace(resource="objectcounts"), True),
        (WORLD, SEARCH._replace(resource="fieldindexes"), False),
        (WORLD, SEARCH._replace(user=User("eve")), False),
        (WORLD, SEARCH._replace(verb="list"), False),
        (WORLD, LOG, True),
        (WORLD, LOG._replace(verb="list"), True),
        (WORLD, LOG._replace(verb="create"), False),
        (WORLD, LOG._replace(resource="revisions"), False),
        (WORLD, LOG._replace(user=User("eve")), False),
        (WORLD, REVIEW._replace(user=User("eve")), False),
        (WORLD, REVIEW._replace(verb="get"), False),
        (WORLD, REVIEW._replace(subresource="status"), False),
        (WORLD, REVIEW._replace(group="tenancy.polyplane.dev"), False),
        (WORLD, REVIEW._replace(is_resource=False), False),
        (HOME, MINE, True),
        (WORLD, MINE, False),
        (HOME, MINE._replace(user=User("eve")), False),
        (HOME, MINE._replace(verb="get"), False),
        (HOME, MINE._replace(subresource="status"), False),
        (HOME, MINE._replace(group=""), False),
        (HOME, MINE._replace(resource="tenants"), False),
        (HOME, MINE._replace(is_resource=False), False),
    ],
)
async def test_whoever_is_known_may_ask_what_is_his(
    world: World, asked: Attributes, allowed: bool
) -> None:
    assert (await chain(Says(PASS)).authorize(world, asked)).allowed is allowed
    assert not (await chain(Says(NO)).authorize(world, asked)).allowed, "denied is denied"


async def test_the_two_that_know_their_answer() -> None:
    assert await chain(AlwaysAllow()).authorize(WORLD, ASK) == Decision(
        True, authorizer="alwaysallow"
    )
    denied = await chain(AlwaysDeny()).authorize(WORLD, ASK)
    assert denied == Decision(False, "Everything is forbidden.")
    assert (await chain(AlwaysDeny(), AlwaysAllow()).authorize(WORLD, ASK)).allowed
    rules = await chain(AlwaysAllow(), AlwaysDeny()).rules_for(WORLD, ASK.user, "ns")
    assert [sorted(rule) for rule in rules.rules] == [
        ["apiGroups", "resources", "verbs"],
        ["nonResourceURLs", "verbs"],
    ]
    assert not rules.incomplete


async def test_rules_of_all_are_told_and_incomplete_where_one_cannot_tell() -> None:
    one, other = UserRules([{"verbs": ["a"]}], []), UserRules([{"verbs": ["b"]}], ["e"], True)
    rules = await chain(Says(PASS, one), Says(PASS, other)).rules_for(WORLD, ASK.user, "ns")
    assert rules == UserRules([{"verbs": ["a"]}, {"verbs": ["b"]}], ["e"], True)


async def test_an_explanation_names_who_decided_without_rbac() -> None:
    explanation = await chain(Says(NO)).explain(WORLD, ASK)
    assert (explanation.decision, explanation.misses) == (NO, [])
    assert (await chain(Says(PASS)).explain(WORLD, ASK)).misses == []


LOOKER = User("looker", platform=frozenset({LOOKING}))


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({"verb": "get", "resource": "pods", "namespace": "n", "name": "p"}, True),
        ({"verb": "list", "resource": "widgets", "group": "toys.example.com"}, True),
        ({"verb": "watch", "resource": "configmaps"}, True),
        ({"verb": "get", "resource": "deployments", "group": "apps", "subresource": "scale"}, True),
        ({"verb": "get", "resource": "secrets"}, False),
        ({"verb": "list", "resource": "secrets"}, False),
        # Secrets may stand in them
        ({"verb": "get", "resource": "tenanttemplates", "group": TENANCY_GROUP}, False),
        ({"verb": "watch", "resource": "tenanttemplates", "group": TENANCY_GROUP}, False),
        ({"verb": "list", "resource": "tenants", "group": TENANCY_GROUP}, True),
        ({"verb": "list", "resource": "*"}, False),
        ({"verb": "list", "resource": "pods", "group": "*"}, False),
        ({"verb": "get", "resource": "pods", "subresource": "exec"}, False),
        ({"verb": "get", "resource": "pods", "subresource": "proxy"}, False),
        ({"verb": "get", "resource": "nodes", "subresource": "proxy"}, False),
        ({"verb": "create", "resource": "pods"}, False),
        ({"verb": "deletecollection", "resource": "pods"}, False),
        ({"verb": "*", "resource": "pods"}, False),
        ({"verb": "impersonate", "resource": "users"}, False),
        ({"verb": "get", "path": "/metrics", "is_resource": False}, False),
    ],
)
async def test_a_viewer_in_the_console_looks_at_all_but_secrets(
    asked: dict[str, Any], allowed: bool
) -> None:
    decision = await chain(Says(PASS)).authorize(WORLD, Attributes(LOOKER, **asked))
    assert decision.allowed is allowed
    nobody = await chain(Says(PASS)).authorize(WORLD, Attributes(User("looker"), **asked))
    assert not nobody.allowed
    assert not (await chain(Says(NO)).authorize(WORLD, Attributes(LOOKER, **asked))).allowed


HOME = World(2, "default", None)  # type: ignore[arg-type]
KEEPER = User("keeper", platform=frozenset({TENANT_ADMINS}))


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({"verb": "list"}, True),
        ({"verb": "get", "name": "default"}, True),
        ({"verb": "create"}, True),
        ({"verb": "update", "name": "acme"}, True),
        ({"verb": "patch", "name": "acme"}, True),
        ({"verb": "delete", "name": "acme"}, True),
        ({"verb": "deletecollection"}, True),
        ({"verb": "patch", "resource": "tenanttemplates", "name": "default"}, True),
        ({"verb": "create", "resource": "tenanttemplates"}, True),
        ({"verb": "update", "name": "default"}, False),
        ({"verb": "patch", "name": "default"}, False),
        ({"verb": "create", "name": "default"}, False),
        ({"verb": "delete", "name": "default"}, False),
        ({"verb": "*"}, False),
        ({"verb": "escalate"}, False),
        ({"verb": "update", "subresource": "status", "name": "acme"}, False),
        ({"verb": "create", "resource": "*"}, False),
        ({"verb": "create", "group": "*"}, False),
        ({"verb": "create", "group": ""}, False),
        ({"verb": "get", "resource": "secrets", "group": ""}, False),
        ({"verb": "get", "path": "/metrics", "is_resource": False}, False),
    ],
)
async def test_who_keeps_tenants_keeps_all_but_the_one_that_says_so(
    asked: dict[str, Any], allowed: bool
) -> None:
    question = {"group": TENANCY_GROUP, "resource": "tenants", **asked}
    kept, nobody = Attributes(KEEPER, **question), Attributes(User("keeper"), **question)
    assert (await chain(Says(PASS)).authorize(HOME, kept)).allowed is allowed
    assert not (await chain(Says(PASS)).authorize(HOME, nobody)).allowed
    assert not (await chain(Says(PASS)).authorize(WORLD, kept)).allowed, "others declare nothing"
    assert not (await chain(Says(NO)).authorize(HOME, kept)).allowed
    assert (await chain(Says(PASS)).rules_for(HOME, KEEPER, "n")).incomplete
    assert not (await chain(Says(PASS)).rules_for(WORLD, KEEPER, "n")).incomplete


MEASURER = User("measurer", platform=frozenset({METRICS_READERS}))


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({"verb": "get", "path": "/metrics"}, True),
        ({"verb": "get", "path": "/metrics/slis"}, True),
        ({"verb": "delete", "path": "/metrics"}, False),
        ({"verb": "*", "path": "/metrics"}, False),
        ({"verb": "get", "path": "/metrics/"}, False),
        ({"verb": "get", "path": "/flagz"}, False),
        ({"verb": "get", "path": "/debug/api_priority_and_fairness/dump_requests"}, False),
        ({"verb": "get", "path": "*"}, False),
        ({"verb": "get", "path": "", "is_resource": True, "resource": "pods"}, False),
    ],
)
async def test_who_reads_metrics_reads_them_where_they_are_of_the_installation(
    asked: dict[str, Any], allowed: bool
) -> None:
    question = Attributes(MEASURER, **{"is_resource": False, **asked})
    assert (await chain(Says(PASS)).authorize(HOME, question)).allowed is allowed
    assert not (await chain(Says(PASS)).authorize(WORLD, question)).allowed
    assert not (await chain(Says(NO)).authorize(HOME, question)).allowed
    nobody = Attributes(User("measurer"), **{"is_resource": False, **asked})
    assert not (await chain(Says(PASS)).authorize(HOME, nobody)).allowed
