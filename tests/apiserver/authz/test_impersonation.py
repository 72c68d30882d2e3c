"""The five modes of impersonation. Rights are written as "verb resource[/subresource] name"; "*"
stands for every name."""

from __future__ import annotations

import pytest

from apiserver.authz.attributes import Attributes, Authorize, Decision
from apiserver.authz.impersonation import MODES, act_as
from apiserver.errors import Forbidden
from apiserver.meta import features
from apiserver.user import User

ROBOT = User(
    "system:serviceaccount:ns:robot",
    extra={"authentication.kubernetes.io/node-name": ("n1",)},
)
ALICE = User("alice")
NODE, ACCOUNT, EVE = "system:node:n1", "system:serviceaccount:a:b", "eve"
LIST_PODS = Attributes(ALICE, "list", "", "v1", "pods", namespace="ns")
LEGACY = len(MODES) - 1


def holding(*rights: str) -> Authorize:
    async def authorize(question: Attributes) -> Decision:
        what = f"{question.verb} {question.full_resource}"
        return Decision(f"{what} {question.name}".strip() in rights or f"{what} *" in rights)

    return authorize


def asking(question: list[Attributes], allowed: bool = True) -> Authorize:
    async def authorize(attributes: Attributes) -> Decision:
        question.append(attributes)
        return Decision(allowed)

    return authorize


async def groups_of(wanted: User, by: User, *rights: str) -> tuple[str, tuple[str, ...]]:
    user, mode = await act_as(wanted, LIST_PODS._replace(user=by), holding(*rights))
    assert (user.name, user.uid, user.extra) == (wanted.name, wanted.uid, wanted.extra)
    return MODES[mode].name, user.groups


@pytest.mark.parametrize(
    ("mode", "by", "name", "part", "groups"),
    [
        ("associated-node", ROBOT, NODE, "nodes *", ("system:nodes",)),
        ("arbitrary-node", ALICE, NODE, "nodes n1", ("system:nodes",)),
        (
            "serviceaccount",
            ALICE,
            ACCOUNT,
            "serviceaccounts b",
            ("system:serviceaccounts", "system:serviceaccounts:a"),
        ),
        ("user-info", ALICE, EVE, "users eve", ()),
    ],
)
async def test_a_constrained_mode_takes_two_rights(
    mode: str, by: User, name: str, part: str, groups: tuple[str, ...]
) -> None:
    on, what = f"impersonate-on:{mode}:list pods", f"impersonate:{mode} {part}"
    found = await groups_of(User(name), by, on, what)
    assert found == (mode, (*groups, "system:authenticated"))
    for right in (on, what):
        with pytest.raises(Forbidden):
            await groups_of(User(name), by, right)
    other = LIST_PODS._replace(user=by, verb="get")
    with pytest.raises(Forbidden, match=f"cannot impersonate-on:{mode}:get resource"):
        await act_as(User(name), other, holding(on, what))


@pytest.mark.parametrize("name", ["A:b", "a:B", "a:b:c", "a:", "-a:b", "a.b:c"])
async def test_what_no_account_is_called_is_a_user_like_others(name: str) -> None:
    wanted = User(f"system:serviceaccount:{name}")
    on, what = "impersonate-on:user-info:list pods", f"impersonate:user-info users {wanted.name}"
    found = await groups_of(wanted, ALICE, on, what)
    assert found == ("user-info", ("system:authenticated",))
    legacy = await groups_of(wanted, ALICE, f"impersonate users {wanted.name}")
    assert legacy == ("", ("system:authenticated",))


@pytest.mark.parametrize(
    ("wanted", "groups"),
    [
        (User(EVE), ("system:authenticated",)),
        (User(EVE, groups=("g",)), ("g", "system:authenticated")),
        (User(EVE, groups=("system:unauthenticated",)), ("system:unauthenticated",)),
        (User("system:anonymous"), ("system:unauthenticated",)),
        (User(NODE), ("system:authenticated",)),
        (
            User(ACCOUNT),
            ("system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"),
        ),
        (User(ACCOUNT, groups=("g",)), ("g", "system:authenticated")),
    ],
)
async def test_the_legacy_mode_takes_one_right_for_each_part(
    wanted: User, groups: tuple[str, ...]
) -> None:
    rights = [f"impersonate {r} *" for r in ("users", "serviceaccounts", "groups")]
    assert await groups_of(wanted, ALICE, *rights) == ("", groups)


async def test_every_part_is_asked_for_in_order() -> None:
    questions: list[Attributes] = []
    wanted = User(EVE, "7", ("g",), {"example.com/scopes": ("view",)})
    for last, names in ((LEGACY, ""), (3, "authentication.k8s.io")):
        questions.clear()
        await act_as(wanted, LIST_PODS, asking(questions), last)
        verb = "impersonate:user-info" if names else "impersonate"
        assert [q for q in questions if q.verb == verb] == [
            Attributes(ALICE, verb, names, "v1", "users", name=EVE),
            Attributes(ALICE, verb, "authentication.k8s.io", "v1", "uids", name="7"),
            Attributes(ALICE, verb, names, "v1", "groups", name="g"),
            Attributes(
                ALICE,
                verb,
                "authentication.k8s.io",
                "v1",
                "userextras",
                "example.com/scopes",
                name="view",
            ),
        ]


async def test_an_account_is_asked_for_in_its_namespace() -> None:
    questions: list[Attributes] = []
    await act_as(User(ACCOUNT), LIST_PODS, asking(questions), LEGACY)
    assert questions == [
        Attributes(ALICE, "impersonate", "", "v1", "serviceaccounts", namespace="a", name="b")
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        User(NODE, groups=("system:nodes",)),
        User(NODE, uid="1"),
        User(ACCOUNT, extra={"a.b/c": ("d",)}),
    ],
)
async def test_nodes_and_accounts_are_constrained_by_their_name_alone(wanted: User) -> None:
    questions: list[Attributes] = []
    with pytest.raises(Forbidden):
        await act_as(wanted, LIST_PODS._replace(user=ROBOT), asking(questions, allowed=False))
    assert {q.verb for q in questions} == {"impersonate"}


@pytest.mark.parametrize(
    ("by", "node"),
    [
        (ROBOT, "system:node:n2"),
        (User(ROBOT.name), NODE),
        (User("alice", extra=ROBOT.extra), NODE),
        (
            User(ROBOT.name, extra={"authentication.kubernetes.io/node-name": ("n1", "n2")}),
            NODE,
        ),
    ],
)
async def test_a_node_is_associated_with_the_account_whose_token_says_so(
    by: User, node: str
) -> None:
    rights = ["impersonate-on:associated-node:list pods", "impersonate:associated-node nodes *"]
    with pytest.raises(Forbidden):
        await groups_of(User(node), by, *rights)


USER_INFO = ("impersonate-on:user-info:list pods", "impersonate:user-info users *")


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (User(EVE, groups=("",)), "impersonating the empty string group is not allowed"),
        (
            User(EVE, groups=("g", "system:masters")),
            'impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the '
            "cluster scope: impersonating the system:masters group is not allowed",
        ),
        (User(EVE, extra={"": ("v",)}), "the empty string key in extra is not allowed"),
        (
            User(EVE, extra={"scopes": ("v",)}),
            'an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a '
            "domain-prefixed path",
        ),
        (
            User(EVE, extra={"a.b/C": ("v",)}),
            'a non-lowercase key in extra is not allowed: "a.b/C"',
        ),
        (User(EVE, extra={"a.b/c": ("v", "")}), "the empty string value in extra is not allowed"),
    ],
)
async def test_what_no_right_constrains(wanted: User, why: str) -> None:
    everything = (*USER_INFO, "impersonate:user-info groups *")
    with pytest.raises(Forbidden) as refused:
        await groups_of(wanted, ALICE, *everything)
    assert why in refused.value.message


async def test_the_right_to_all_is_asked_for_before_many() -> None:
    questions: list[Attributes] = []
    extra = {"a.b/c": ("1", "2"), "a.b/d": ("3", "4")}
    await act_as(User(EVE, groups=tuple("abcd"), extra=extra), LIST_PODS, asking(questions), 3)
    assert [(q.resource, q.subresource, q.name) for q in questions[2:]] == [
        ("groups", "", "*"),
        ("userextras", "*", "*"),
    ]
    await groups_of(
        User(EVE, groups=tuple("abcd")),
        ALICE,
        *USER_INFO,
        *(f"impersonate:user-info groups {g}" for g in "abcd"),
    )


async def test_the_refusal_of_the_mode_that_last_allowed_something_is_told() -> None:
    with pytest.raises(Forbidden, match="cannot impersonate-on:user-info:list resource"):
        await act_as(User(EVE), LIST_PODS, holding(), None)
    with pytest.raises(Forbidden, match='cannot impersonate resource "users"'):
        await act_as(User(EVE), LIST_PODS, holding(), LEGACY)


async def test_it_is_tried_first_and_the_others_after_it() -> None:
    both = holding(*USER_INFO, "impersonate users eve")
    assert (await act_as(User(EVE), LIST_PODS, both, LEGACY))[1] == LEGACY
    assert (await act_as(User(EVE), LIST_PODS, both))[1] == 3
    assert (await act_as(User(EVE), LIST_PODS, holding(*USER_INFO), LEGACY))[1] == 3


async def test_only_the_legacy_mode_is_there_when_the_others_are_switched_off() -> None:
    features.activate({"ConstrainedImpersonation": False})
    try:
        with pytest.raises(Forbidden, match='cannot impersonate resource "users"'):
            await act_as(User(EVE), LIST_PODS, holding(*USER_INFO))
    finally:
        features.activate({})


async def test_authorizers_are_not_told_which_node_an_account_is_on() -> None:
    asked: list[Attributes] = []
    await act_as(User(NODE), LIST_PODS._replace(user=ROBOT), asking(asked))
    keys = {"authentication.kubernetes.io/associated-node-keys": tuple(ROBOT.extra)}
    assert [(a.verb, a.user.extra, a.name) for a in asked] == [
        ("impersonate-on:associated-node:list", keys, ""),
        ("impersonate:associated-node", keys, "*"),
    ]
    asked.clear()
    await act_as(User(EVE), LIST_PODS._replace(user=ROBOT), asking(asked))
    assert all(a.user == ROBOT for a in asked)


async def test_what_kept_an_authorizer_from_deciding_is_told() -> None:
    async def fails(question: Attributes) -> Decision:
        return Decision(False, "r", error="e")

    with pytest.raises(Forbidden, match=r"at the cluster scope: e: r$"):
        await act_as(User(EVE), LIST_PODS._replace(namespace=""), fails)
