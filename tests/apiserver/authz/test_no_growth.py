"""Whatever somebody without ``escalate`` and ``bind`` writes, in whatever order: they never hold
more than at the start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.coverage import uncovered
from apiserver.authz.escalation import check_binding, check_role
from apiserver.authz.rbac import GROUP, authorize, rules_for
from apiserver.errors import ApiError
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.roles import Roles, binding, role, user
from tests.support.rules import rules

EVE = User("eve", groups=("dev",))
NAMESPACES = ["", "ns", "other"]
NAMES = ["a", "b", "c"]
subjects = st.sampled_from([user("eve"), user("friend"), {"kind": "Group", "name": "dev"}])


class Written(NamedTuple):
    obj: Object
    namespace: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.obj["kind"], self.namespace, self.obj["metadata"]["name"]


@st.composite
def roles(draw: st.DrawFn) -> Written:
    namespace = draw(st.sampled_from(NAMESPACES))
    made = role(
        draw(st.sampled_from(NAMES)), *draw(st.lists(rules, max_size=2)), namespace=namespace
    )
    if not namespace and draw(st.booleans()):
        made["aggregationRule"] = {"clusterRoleSelectors": [{}]}
    return Written(made, namespace)


@st.composite
def bindings(draw: st.DrawFn) -> Written:
    namespace = draw(st.sampled_from(NAMESPACES))
    to = role(
        draw(st.sampled_from(NAMES)), namespace=namespace and draw(st.sampled_from(["", namespace]))
    )
    made = binding(
        draw(st.sampled_from(NAMES)), to, *draw(st.lists(subjects, max_size=2)), namespace=namespace
    )
    return Written(made, namespace)


writes = st.one_of(roles(), bindings())


def store(reader: Roles, written: Iterable[Written]) -> None:
    kept = {Written(o, o["metadata"]["namespace"]).key: o for o in reader.objects}
    for one in written:
        kept[one.key] = one.obj
    reader.objects = list(kept.values())


async def attempt(reader: Roles, write: Written) -> None:
    """What a server does with the write; nothing when it is refused."""
    kind, namespace, name = write.key
    old = next(
        (o for o in reader.objects if Written(o, o["metadata"]["namespace"]).key == write.key), None
    )
    resource = f"{kind.lower()}s"

    async def ask(question: Attributes) -> Decision:
        return await authorize(question, reader)

    request = Attributes(
        EVE, "update" if old else "create", GROUP, "v1", resource, namespace=namespace, name=name
    )
    check: Any = check_binding if "roleRef" in write.obj else check_role
    try:
        await check(request, write.obj, old, reader, ask)
    except ApiError:
        return
    store(reader, [write])


@given(st.lists(writes, max_size=8), st.lists(writes, max_size=8))
def test_nobody_gains_rights_by_writing_roles_and_bindings(
    before: list[Written], attempts: list[Written]
) -> None:
    """The words of the rules know no verbs ``escalate`` and ``bind`` but ``*``, which is for groups
    that are not RBAC's."""

    async def run() -> None:
        reader = Roles()
        store(reader, [w for w in before if not may_escalate(w)])
        held = {
            namespace: (await rules_for(EVE, namespace, reader)).rules for namespace in NAMESPACES
        }
        for write in attempts:
            await attempt(reader, write)
            for namespace in NAMESPACES:
                now = (await rules_for(EVE, namespace, reader)).rules
                assert uncovered(held[namespace], now) == ([], True), write

    asyncio.run(run())


def may_escalate(write: Written) -> bool:
    """Whether a rule gives all verbs of all groups."""
    return any(
        "*" in rule["verbs"] and "*" in rule.get("apiGroups", ())
        for rule in write.obj.get("rules", ())
    )
