from __future__ import annotations

from typing import Any

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.escalation import check_binding, check_role
from apiserver.authz.rbac import authorize
from apiserver.errors import ApiError, Forbidden, NotFound
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.roles import Roles, binding, role, rule, urls, user

GROUP = "rbac.authorization.k8s.io"
EDITOR = role(
    "editor",
    rule("create update", "roles rolebindings", GROUP),
    rule("get list", "configmaps"),
    namespace="ns",
)
SECRETS = role("secrets", rule("get", "secrets"), namespace="ns")


def world(*more: Object) -> Roles:
    return Roles([EDITOR, SECRETS, binding("editor", EDITOR, user("e"), namespace="ns"), *more])


def request(
    resource: str, *, name: str = "e", groups: tuple[str, ...] = ("system:authenticated",)
) -> Attributes:
    return Attributes(User(name, groups=groups), "create", GROUP, "v1", resource, namespace="ns")


def asking(reader: Roles) -> Any:
    async def ask(attributes: Attributes) -> Decision:
        return await authorize(attributes, reader)

    return ask


async def grant(
    wanted: Object, old: Object | None = None, reader: Roles | None = None, **who: Any
) -> None:
    reader = reader or world()
    await check_role(request("roles", **who), wanted, old, reader, asking(reader))


async def bind(
    to: Object, reader: Roles | None = None, old: Object | None = None, **who: Any
) -> None:
    reader = reader or world()
    made = binding("b", to, user("friend"), namespace="ns")
    await check_binding(request("rolebindings", **who), made, old, reader, asking(reader))


async def test_own_rights_may_be_granted_and_bound() -> None:
    await grant(role("r", rule("get", "configmaps"), namespace="ns"))
    await bind(role("own"), world(role("own", rule("list", "configmaps"))))


async def test_more_rights_are_named_line_by_line() -> None:
    with pytest.raises(Forbidden) as refused:
        await grant(
            role(
                "more",
                rule("get delete", "secrets configmaps"),
                rule("*", "*", "apps"),
                namespace="ns",
            )
        )
    assert refused.value.message == (
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "e" '
        '(groups=["system:authenticated"]) is attempting to grant RBAC '
        "permissions not currently held:\n"
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}\n'
        '{APIGroups:["apps"], Resources:["*"], Verbs:["*"]}'
    )


async def test_roles_that_cannot_be_found_are_mentioned() -> None:
    reader = world(binding("lost", role("gone"), user("e")))
    with pytest.raises(
        Forbidden,
        match=r'resolution errors: \[roles.rbac.authorization.k8s.io "gone" not found\]',
    ):
        await grant(SECRETS, reader=reader)


async def test_they_are_called_what_the_request_is_about() -> None:
    lost = (
        binding("lost", role("gone"), user("e")),
        binding("lost", role("gone", namespace="ns"), user("e"), namespace="ns"),
    )
    with pytest.raises(Forbidden) as refused:
        await bind(
            role("big", rule("get", "secrets")), world(role("big", rule("get", "secrets")), *lost)
        )
    errors = '[rolebindings.rbac.authorization.k8s.io "gone" not found]'
    assert str(refused.value).endswith(f"; resolution errors: {errors}")


async def test_masters_and_escalators_are_free() -> None:
    await grant(SECRETS, groups=("system:masters",))
    escalate = role("escalate", rule("escalate", "roles", GROUP), namespace="ns")
    await grant(SECRETS, reader=world(escalate, binding("x", escalate, user("e"), namespace="ns")))


async def test_an_update_is_checked_unless_only_garbage_collection_gains() -> None:
    freed = {**SECRETS, "metadata": {**SECRETS["metadata"], "finalizers": []}}
    held = {**SECRETS, "metadata": {**SECRETS["metadata"], "finalizers": ["a/b"]}}
    await grant(freed, held)
    labelled = {**SECRETS, "metadata": {**SECRETS["metadata"], "labels": {"a": "b"}}}
    with pytest.raises(Forbidden):
        await grant(labelled, SECRETS)


async def test_aggregation_needs_everything() -> None:
    gathering = {**role("g"), "aggregationRule": {"clusterRoleSelectors": [{}]}}
    with pytest.raises(
        Forbidden, match="must have cluster-admin privileges to use the aggregationRule"
    ):
        await grant(gathering)
    everything = role("all", rule("*", "*", "*"), urls("*", "*"))
    await grant(gathering, reader=world(everything, binding("all", everything, user("e"))))


async def test_a_bigger_role_can_be_bound_only_with_the_verb_bind() -> None:
    with pytest.raises(Forbidden, match="not currently held"):
        await bind(SECRETS)
    may = role("bind", rule("bind", "roles", GROUP, "secrets"), namespace="ns")
    reader = world(may, binding("may", may, user("e"), namespace="ns"))
    await bind(SECRETS, reader)
    with pytest.raises(Forbidden):
        await bind(role("other"), reader.add(role("other", rule("get", "nodes"))))


async def test_binding_a_missing_role_is_not_found_in_the_name_of_bindings() -> None:
    with pytest.raises(
        NotFound, match=r'rolebindings.rbac.authorization.k8s.io "absent" not found'
    ):
        await bind(role("absent", namespace="ns"))
    with pytest.raises(ApiError, match='unsupported role reference kind: "Thing"'):
        await bind({"kind": "Thing", "metadata": {"name": "x"}})
