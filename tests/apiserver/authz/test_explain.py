"""What an explanation names is what decides: played again, it gives the same answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.authz import explain as explain_module
from apiserver.authz.attributes import Attributes
from apiserver.authz.explain import Explanation, Miss, explain, rule_text, shortened
from apiserver.authz.rbac import authorize
from apiserver.authz.rules import ALL, lacking, rule_allows
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.roles import Roles, account, binding, group, role, rule, user
from tests.support.rules import questions, rules

EVE = User("eve", groups=("dev",))
NAMESPACES = ["ns", "other"]
subjects = st.sampled_from([user("eve"), user("friend"), group("dev"), account("eve", "ns")])


async def ask(question: Attributes, reader: Roles) -> Explanation:
    return await explain(question, await authorize(question, reader), reader)


@st.composite
def worlds(draw: st.DrawFn) -> Roles:
    """Roles, some of them missing, and bindings that give them to some."""
    objects: list[Object] = []
    for namespace in ["", *NAMESPACES]:
        for name in ("a", "b", "c"):
            if draw(st.booleans()):
                held = draw(st.lists(rules, max_size=3))
                objects.append(role(name, *held, namespace=namespace))
        for name in draw(st.lists(st.sampled_from(["x", "y", "z"]), unique=True)):
            of = draw(st.sampled_from(["", namespace]))
            to = role(draw(st.sampled_from(["a", "b", "c"])), namespace=of)
            named = draw(st.lists(subjects, max_size=2))
            objects.append(binding(name, to, *named, namespace=namespace))
    return Roles(objects)


asked = st.builds(
    lambda question, namespace: question._replace(
        user=EVE, namespace=namespace if question.is_resource else ""
    ),
    questions,
    st.sampled_from(["", *NAMESPACES]),
)


def _same(one: Object, other: Object) -> bool:
    return one["kind"] == other["kind"] and one["metadata"] == other["metadata"]


def _role_of(reader: Roles, source: Any) -> Object:
    ref = source.binding["roleRef"]
    namespace = source.namespace if ref["kind"] == "Role" else ""
    metadata = {"name": ref["name"], "namespace": namespace}
    return next(o for o in reader.objects if _same(o, {"kind": ref["kind"], "metadata": metadata}))


def _alone(reader: Roles, source: Any, held: Sequence[Object]) -> Roles:
    """A world of that binding, to that subject, of a role with those rules."""
    of = {**_role_of(reader, source), "rules": list(held)}
    return Roles([of, {**source.binding, "subjects": [source.subject]}])


@given(worlds(), asked)
def test_what_is_named_allows_alone_and_without_it_another_decides(
    reader: Roles, question: Attributes
) -> None:
    async def run() -> None:
        first = await authorize(question, reader)
        explanation = await ask(question, reader)
        assert explanation.decision == first
        if (grant := first.grant) is None:
            assert not first.allowed
            return
        of = _role_of(reader, grant)
        assert of["rules"][grant.at] is grant.rule
        assert (await authorize(question, _alone(reader, grant, [grant.rule]))).allowed
        rest = Roles(o for o in reader.objects if not _same(o, grant.binding))
        again = await authorize(question, rest)
        if again.grant is not None:
            assert not _same(again.grant.binding, grant.binding)
        elif not again.allowed:  # nobody else: taking the one rule away is a refusal, too
            others = [r for at, r in enumerate(of["rules"]) if at != grant.at]
            left = await authorize(question, _alone(reader, grant, others))
            assert left.allowed == any(rule_allows(r, question) for r in others)

    asyncio.run(run())


@given(worlds(), asked)
def test_a_near_miss_is_held_and_lacks_what_it_says(reader: Roles, question: Attributes) -> None:
    async def run() -> None:
        explanation = await ask(question, reader)
        assert explanation.complete
        assert not (explanation.decision.allowed and explanation.misses)
        distances = [len(miss.lacking) for miss in explanation.misses]
        assert distances == sorted(distances)
        for miss in explanation.misses:
            there = question
            if "namespace" in miss.lacking:
                assert miss.grant.namespace not in ("", question.namespace)
                there = question._replace(namespace=miss.grant.namespace)
            mended = _alone(reader, miss.grant, [_mended(miss, question)])
            assert (await authorize(there, mended)).allowed
            assert not (
                await authorize(question, _alone(reader, miss.grant, [miss.grant.rule]))
            ).allowed

    asyncio.run(run())


def _mended(miss: Miss, question: Attributes) -> Object:
    """The rule with what it lacks."""
    more = {
        "verbs": question.verb,
        "apiGroups": question.group,
        "resources": question.full_resource,
        "resourceNames": question.name,
        "nonResourceURLs": question.path,
    }
    held = dict(miss.grant.rule)
    for member in miss.lacking:
        if member != "namespace":
            held[member] = [*held.get(member, ()), more[member]]
    return held


@given(rules, questions)
def test_a_rule_lacks_nothing_where_it_allows(held: Object, question: Attributes) -> None:
    assert (not lacking(held, question)) == rule_allows(held, question)


async def test_misses_are_few_and_the_nearest() -> None:
    far = role("far", *[rule("list", "pods", "x") for _ in range(30)])
    near = role("near", rule("list", "pods"))
    reader = Roles([far, near, binding("a", far, user("eve")), binding("b", near, user("eve"))])
    explanation = await ask(Attributes(EVE, "get", resource="pods", namespace="ns"), reader)
    assert len(explanation.misses) == explain_module.MOST_MISSES
    assert explanation.misses[0].grant.binding["metadata"]["name"] == "b"


async def test_work_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(explain_module, "MOST_LOOKS", 20)
    many = role("many", *[rule("list", "pods") for _ in range(30)])
    reader = Roles([many, binding("a", many, user("eve"))])
    explanation = await ask(Attributes(EVE, "get", resource="pods", namespace="ns"), reader)
    assert not explanation.complete
    assert explanation.misses


def test_rules_are_told_in_short() -> None:
    long = rule("get", " ".join(f"r{i}" for i in range(100)))
    told, cut = shortened(long)
    assert (len(told["resources"]), cut) == (20, True)
    assert shortened(rule(ALL, "pods")) == (rule(ALL, "pods"), False)
    source: Any = (binding("b", role("r"), user("eve")), user("eve"), "")
    grant = explain_module.Grant(*source, rule("get list", "pods"), 3)
    assert rule_text(grant) == '3: {APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}'
