"""RBAC: a pure authorizer over Roles, ClusterRoles and their bindings (kubernetes
``plugin/pkg/auth/authorizer/rbac``).

It opens nothing: a reader hands it the objects of one tenant. Rules only ever add up, so a role
that cannot be found never refuses what another one allows; it only shows in the reason of a
refusal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rules import Rule, rule_allows
from apiserver.errors import aggregate
from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import Object
from apiserver.user import MASTERS, User, split_service_account

GROUP = "rbac.authorization.k8s.io"
MOST_ERRORS = 100
"""Roles that could not be found of which a refusal tells."""
MOST_ERROR_TEXT = 1024
"""Characters about each."""


class Reader(Protocol):
    """Objects of rbac.authorization.k8s.io/v1 of one tenant; lists in name order; None for what
    does not exist."""

    async def cluster_role_bindings(self) -> Sequence[Object]: ...
    async def role_bindings(self, namespace: str) -> Sequence[Object]: ...
    async def cluster_role(self, name: str) -> Object | None: ...
    async def role(self, namespace: str, name: str) -> Object | None: ...


class RuleSource(NamedTuple):
    """The rules that one binding gives to the user and where they come from, or what kept them from
    being found."""

    rules: Sequence[Rule]
    source: str = ""
    error: str = ""


class UserRules(NamedTuple):
    """All rules of a user, complete unless ``errors`` says which roles could not be found."""

    rules: list[Rule]
    errors: list[str]


async def authorize(attributes: Attributes, reader: Reader) -> Decision:
    """Allowed with "RBAC: allowed by ..." by the first rule that fits; for system:masters allowed
    without looking."""
    if MASTERS in attributes.user.groups:
        return Decision(True)
    errors: list[str] = []
    async for source in _sources(
        attributes.user, attributes.namespace if attributes.is_resource else "", reader
    ):
        if source.error:
            _note(errors, source.error)
        elif any(rule_allows(rule, attributes) for rule in source.rules):
            return Decision(True, f"RBAC: allowed by {source.source}")
    return Decision(False, f"RBAC: {aggregate(errors)}" if errors else "")


async def rules_for(user: User, namespace: str, reader: Reader) -> UserRules:
    """Every rule that holds for the user cluster-wide and, where ``namespace`` is not "", in that
    namespace."""
    out = UserRules([], [])
    async for source in _sources(user, namespace, reader):
        if source.error:
            _note(out.errors, source.error)
        out.rules.extend(source.rules)
    return out


def _note(errors: list[str], error: str) -> None:
    """A user may be bound to any number of roles that are gone, and names may be long: an answer
    tells of some."""
    if len(errors) < MOST_ERRORS:
        errors.append(error[:MOST_ERROR_TEXT])


async def role_rules(role_ref: Object, namespace: str, reader: Reader) -> RuleSource:
    """Rules of the role that a binding of ``namespace`` ("" for a ClusterRoleBinding) refers to."""
    kind, name = role_ref.get("kind", ""), role_ref.get("name", "")
    if kind == "Role":
        role = await reader.role(namespace, name)
    elif kind == "ClusterRole":
        role = await reader.cluster_role(name)
    else:
        return RuleSource((), error=f"unsupported role reference kind: {go_quote(kind)}")
    if role is None:
        return RuleSource((), error=f"{kind.lower()}.{GROUP} {go_quote(name)} not found")
    return RuleSource(role.get("rules") or ())


async def _sources(user: User, namespace: str, reader: Reader) -> AsyncIterator[RuleSource]:
    identity = _Identity(user.name, frozenset(user.groups), split_service_account(user.name))
    for binding in await reader.cluster_role_bindings():
        subject = _subject_of(identity, binding, "")
        if subject is not None:
            yield await _source(binding, subject, "", reader)
    if namespace:
        for binding in await reader.role_bindings(namespace):
            subject = _subject_of(identity, binding, namespace)
            if subject is not None:
                yield await _source(binding, subject, namespace, reader)


async def _source(binding: Object, subject: Object, namespace: str, reader: Reader) -> RuleSource:
    role_ref = binding["roleRef"]
    rules = await role_rules(role_ref, namespace, reader)
    if rules.error:
        return rules
    name = binding["metadata"]["name"]
    kind, label = (
        ("RoleBinding", f"{name}/{namespace}") if namespace else ("ClusterRoleBinding", name)
    )
    to = subject["name"]
    if subject["kind"] == "ServiceAccount":
        to = f"{to}/{subject.get('namespace') or namespace}"
    role = f"{role_ref['kind']} {go_quote(role_ref['name'])}"
    return RuleSource(
        rules.rules, f"{kind} {go_quote(label)} of {role} to {subject['kind']} {go_quote(to)}"
    )


class _Identity(NamedTuple):
    """A user as subjects are compared with it: every request walks over all bindings. account:
    (namespace, name) or None."""

    name: str
    groups: frozenset[str]
    account: tuple[str, str] | None


def _subject_of(identity: _Identity, binding: Object, namespace: str) -> Object | None:
    """The first subject of the binding that the user is. A ServiceAccount without a namespace means
    one in the binding's."""
    name, groups, account = identity
    subject: Object
    for subject in binding.get("subjects") or ():
        kind = subject.get("kind")
        if kind == "ServiceAccount":
            if (
                account is not None
                and (subject.get("namespace") or namespace, subject.get("name")) == account
            ):
                return subject
        elif (kind == "Group" and subject.get("name") in groups) or (
            kind == "User" and subject.get("name") == name
        ):
            return subject
    return None
