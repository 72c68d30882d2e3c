"""What SelfSubjectRulesReview tells is what is allowed: no more, and no less where it says that
this is all.

| role | tenant | allowed, beside RBAC and what everybody may ask | told |
|---|---|---|---|
| none | any | nothing | as kube-apiserver: without what everybody may ask |
| viewers by a token | any | nothing | all of it |
| metrics-readers | default | to read metrics | all of it |
| | other | nothing | all of it |
| viewers in the console | any | to read objects, but what looking.py hides | what is served |
| editors | any | the tenant's ClusterRole edit, less what editing.py keeps | all of it |
| editors, "*" in edit | any | likewise | likewise, of "*" what is served |
| tenant-admins | default | tenants and templates, but to write tenant default | all, but writing \
tenants by their names |
| | other | nothing | all of it |
| a tenant's owner | any | everything, by RBAC | all of it |
| system:masters, whatever else | any | everything | what RBAC gives, as kube-apiserver |

The answers of the fifth, seventh and eighth line say that they are incomplete, and why. The
namespace matters to none of them: roles in the installation hold in the whole tenant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.authorizers.chain import Authority
from apiserver.authorizers.editing import MOST_TEXT
from apiserver.authorizers.links import AlwaysAllow, Named, World
from apiserver.authorizers.rbac import MOST_TOLD
from apiserver.authz.attributes import Attributes
from apiserver.authz.rbac import GROUP, UserRules
from apiserver.authz.rules import Rule, length
from apiserver.effort import TakesLong, limited
from apiserver.kinds import catalog
from apiserver.kinds.served import names
from apiserver.meta.objects import Object
from apiserver.platformroles import EDITORS, LOOKING, METRICS_READERS, TENANT_ADMINS, VIEWERS
from apiserver.request import TENANCY_GROUP
from apiserver.user import MASTERS, User, authenticated
from tests.support.rights import (
    VERBS,
    Held,
    check_told,
    of_urls,
    parts,
    questions,
    role,
)

T = TypeVar("T")

TOYS = "toys.example.com"
SERVED = {
    **names(catalog.resources().values()),
    TOYS: ["widgets", "widgets/status", "widgets/scale"],
    TENANCY_GROUP: ["tenants", "tenants/status", "tenanttemplates", "selftenantreviews"],
}
MORE = {
    "": ["*", "mystery", "secrets", "secrets/anything", "*/scale", "configmaps"],
    "*": ["*", "pods", "secrets"],
    "none.example.com": ["things", "things/status", "things/scale", "*"],
    TOYS: ["*", "gadgets", "widgets"],
    TENANCY_GROUP: ["*", "tenants/anything", *SERVED[TENANCY_GROUP]],
}
"""What is not served, and what is by names that matter."""
NAMES = ("", "default", "acme")
NAMESPACES = ("", "shop")
OWNERS: Object = {
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "polyplane:owners"},
    "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "User", "name": "owner"}],
}
ALL: Rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
TOY_RULE: Rule = {"apiGroups": [TOYS], "resources": ["widgets"], "verbs": ["*"]}


def holder(*roles: str, name: str = "ann", groups: tuple[str, ...] = ()) -> User:
    return User(name, "u", authenticated(groups, name), everywhere=True, platform=frozenset(roles))


def world(tenant: str, *objects: Object, served: Any = SERVED) -> World:
    return World(1, tenant, Held(*objects, served=served))  # type: ignore[arg-type]


async def told(at: World, user: User, authority: Authority | None = None) -> UserRules:
    found = [
        await (authority or Authority()).rules_for(at, user, namespace) for namespace in NAMESPACES
    ]
    assert found[0] == found[1], "a role in the installation holds in all namespaces"
    return found[0]


async def untold(at: World, user: User, rules: UserRules) -> list[Attributes]:
    """What is allowed and not told, of everything there is and of more; nothing is told that is not
    allowed."""
    authority = Authority()
    assert await check_told(authority, at, rules, parts(user, rules.rules)) == []
    found = await check_told(authority, at, rules, of_urls(user))
    for resources, of_objects in ((SERVED, ["acme"]), (MORE, NAMES)):
        asked = questions(user, resources, VERBS, of_objects, NAMESPACES)
        found += await check_told(authority, at, rules, asked)
    return found


WITH_TOYS = role("edit", [TOY_RULE])
COMPLETE = [
    (holder(VIEWERS), "acme", ()),
    (holder(METRICS_READERS), "acme", ()),
    (holder(METRICS_READERS), "default", ()),
    (holder(EDITORS), "acme", ()),
    (holder(EDITORS, TENANT_ADMINS, VIEWERS), "acme", ()),
    (holder(EDITORS), "default", ()),
    (holder(EDITORS), "acme", (WITH_TOYS,)),
    (holder(EDITORS), "acme", (role("edit", []),)),
    (holder(TENANT_ADMINS), "acme", ()),
    (holder(name="owner"), "acme", (OWNERS,)),
    (holder(EDITORS, name="owner"), "acme", (OWNERS,)),
    (holder(EDITORS, LOOKING, TENANT_ADMINS, groups=(MASTERS,)), "default", ()),
]


@pytest.mark.parametrize(("user", "tenant", "objects"), COMPLETE)
async def test_all_is_told_that_is_allowed(
    user: User, tenant: str, objects: tuple[Object, ...]
) -> None:
    at = world(tenant, *objects)
    rules = await told(at, user)
    assert (rules.incomplete, rules.errors) == (False, [])
    assert await untold(at, user, rules) == []


def _is_served(asked: Attributes) -> bool:
    return asked.full_resource in SERVED.get(asked.group, ())


@pytest.mark.parametrize("tenant", ["acme", "default"])
@pytest.mark.parametrize(
    ("user", "objects", "why"),
    [
        (holder(VIEWERS, LOOKING), (), VIEWERS),
        (holder(EDITORS), (role("edit", [ALL]),), EDITORS),
        (holder(EDITORS), (role("edit", [{**ALL, "apiGroups": ["apps", TOYS]}]),), EDITORS),
        (holder(EDITORS), (role("edit", [{**ALL, "resources": ["*/scale", "pods"]}]),), EDITORS),
        (holder(EDITORS, VIEWERS, LOOKING), (), VIEWERS),
    ],
)
async def test_all_that_is_served_is_told_where_a_rule_would_say_too_much(
    user: User, objects: tuple[Object, ...], why: str, tenant: str
) -> None:
    at = world(tenant, *objects)
    rules = await told(at, user)
    assert rules.incomplete
    assert [error.startswith(f"the role {why} allows more") for error in rules.errors] == [True]
    rest = await untold(at, user, rules)
    assert rest and not [asked for asked in rest if _is_served(asked)]


async def test_who_keeps_tenants_is_told_all_but_each_of_their_names() -> None:
    at, user = world("default"), holder(TENANT_ADMINS)
    rules = await told(at, user)
    assert rules.incomplete and TENANT_ADMINS in rules.errors[0]
    rest = await untold(at, user, rules)
    assert {(a.group, a.full_resource, a.name) for a in rest} == {
        (TENANCY_GROUP, "tenants", "acme")
    }
    assert {a.verb for a in rest} == {"create", "update", "patch", "delete", "deletecollection"}


OWN = {
    "dependentreviews",
    "objectsearches",
    "objectcounts",
    "grantreviews",
    "expressionreviews",
    "admissionusereviews",
    "retainedlogs",
}


@pytest.mark.parametrize("tenant", ["acme", "default"])
async def test_without_a_role_one_is_told_what_kube_apiserver_tells(tenant: str) -> None:
    """Its answers are recorded, and a question that everybody may ask is in none of them."""
    at, user = world(tenant), User("eve", groups=authenticated((), "eve"))
    rules = await told(at, user)
    assert {name for rule in rules.rules for name in rule.get("resources") or ()} == {
        "selfsubjectreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
    }
    questions = OWN | {"selftenantreviews"} if tenant == "default" else OWN
    assert {asked.resource for asked in await untold(at, user, rules)} == questions
    assert not rules.incomplete


async def test_other_authorizers_of_the_chain_are_told_beside() -> None:
    authority = Authority()
    authority.use([Named("all", "AlwaysAllow", AlwaysAllow())])
    rules = await told(world("acme"), holder(EDITORS), authority)
    assert rules.rules[0] == {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert (
        TOY_RULE | {"verbs": [*VERBS[:3], *sorted(VERBS[3:8])]}
        in (await told(world("acme", WITH_TOYS), holder(EDITORS), authority)).rules
    )


# --- whatever a tenant makes of ``edit`` ----------------------------------------------------------
SMALL = {
    "": ["configmaps", "pods", "pods/exec", "secrets", "serviceaccounts", "serviceaccounts/token"],
    "apps": ["deployments", "deployments/scale"],
    GROUP: ["roles"],
    TENANCY_GROUP: ["tenants", "tenants/status"],
    TOYS: ["widgets", "widgets/status", "widgets/scale", "widgets/token"],
}
_FULL = sorted({name for names in SMALL.values() for name in names})
_FULL += ["secrets/anything", "mystery", "*", "*/scale", "*/token", "*/anything"]
_GROUPS = [*SMALL, "none.example.com", "*"]
_VERBS = ["get", "watch", "create", "deletecollection", "*", "escalate", "impersonate"]
_QUESTIONS = dict.fromkeys(_GROUPS, _FULL)


def some(of: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(of), min_size=1, max_size=3)


_RULES = st.fixed_dictionaries(
    {"apiGroups": some(_GROUPS), "resources": some(_FULL), "verbs": some(_VERBS)},
    optional={"resourceNames": some(["one", "two"])},
)
_URLS: Rule = {"nonResourceURLs": ["*"], "verbs": ["*"]}


def _says(rule: Rule, asked: Attributes) -> bool:
    """By name."""
    return (
        asked.group in rule["apiGroups"]
        and asked.full_resource in rule["resources"]
        and (asked.verb in rule["verbs"] or "*" in rule["verbs"])
        and asked.name in rule.get("resourceNames", [asked.name])
    )


@settings(max_examples=40, deadline=None)
@given(rules=st.lists(_RULES, max_size=4))
async def test_whatever_the_role_edit_says(rules: list[Rule]) -> None:
    user = holder(EDITORS)
    at = world("acme", role("edit", [*rules, _URLS]), served=SMALL)
    found, authority = await told(at, user), Authority()
    assert await check_told(authority, at, found, parts(user, found.rules)) == []
    verbs = ["get", "watch", "create", "deletecollection", "*", "escalate", "impersonate", "use"]
    asked = questions(user, _QUESTIONS, verbs, ["", "one"])
    for question in await check_told(authority, at, found, asked):
        assert found.incomplete, question
        assert question.full_resource not in SMALL.get(question.group, ()), question
        assert not any(_says(rule, question) for rule in rules), question
    if not any("*" in rule["apiGroups"] or "*" in "".join(rule["resources"]) for rule in rules):
        assert not found.incomplete


async def test_a_role_makes_no_answer_without_bounds() -> None:
    """Each rule with "*" is told by the names of what is served: not for a role of thousands of
    them, nor in each group anew the names of objects that a rule is limited to."""
    many = [{**ALL, "resourceNames": [f"n{i}"]} for i in range(5_000)]
    long = [{**ALL, "resourceNames": ["x" * 10_000 for _ in range(50)]} for _ in range(5)]
    for rules in (many, long, [*long, *many]):
        found = await told(world("acme", role("edit", [*rules, TOY_RULE])), holder(EDITORS))
        assert found.incomplete
        assert TOYS in found.rules[-1]["apiGroups"], "what is said by name is told"
        assert sum(len(text) for rule in found.rules for text in _texts(rule)) < 3 * MOST_TEXT


class Impatient(Held):
    """Has no time on the event loop."""

    broken_off = False

    async def run(self, work: Callable[[], T]) -> T:
        try:
            with limited(0.0):
                return work()
        except TakesLong:
            self.broken_off = True
        return work()


@pytest.mark.parametrize("rule", [TOY_RULE, ALL])
async def test_what_a_large_role_is_less_is_found_beside_the_loop(rule: Rule) -> None:
    held = Impatient(role("edit", [rule] * 500), served=SERVED)
    rules = await told(World(1, "acme", held), holder(EDITORS))  # type: ignore[arg-type]
    assert held.broken_off
    assert rules == await told(world("acme", role("edit", [rule] * 500)), holder(EDITORS))


async def test_a_large_role_is_not_told_a_thousand_times() -> None:
    large: Rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["x" * 99] * 30_000}
    bindings = [
        {**OWNERS, "metadata": {"name": f"b{i}"}, "roleRef": {"kind": "ClusterRole", "name": "l"}}
        for i in range(1_000)
    ]
    rules = await told(world("acme", role("l", [large]), *bindings), holder(name="owner"))
    assert rules.incomplete and "are left out" in rules.errors[0]
    assert large in rules.rules and sum(map(length, rules.rules)) <= MOST_TOLD


def _texts(rule: Rule) -> list[str]:
    return [text for member in rule.values() for text in member]
