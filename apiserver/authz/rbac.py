"""RBAC: a pure authorizer over Roles, ClusterRoles and their bindings (kubernetes
``plugin/pkg/auth/authorizer/rbac``).

It opens nothing: a reader hands it the objects of one tenant. Rules only ever add up, so a role
that cannot be found never refuses what another one allows; it only shows in the reason of a
refusal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from math import inf
from typing import NamedTuple, Protocol

from apiserver.authz.attributes import Attributes, Decision, Grant
from apiserver.authz.bindings import Bound, Identity
from apiserver.authz.rules import Rule, length, rule_allows
from apiserver.errors import aggregate
from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import Object
from apiserver.user import User

GROUP = "rbac.authorization.k8s.io"
NAME = "rbac"
"""Of the authorizer."""
MOST_ERRORS = 100
"""Roles that could not be found of which a refusal tells."""
MOST_ERROR_TEXT = 1024
"""Characters about each."""


class Reader(Protocol):
    """Objects of rbac.authorization.k8s.io/v1 of one tenant; bindings in name order; None for what
    does not exist."""

    async def bound(self, namespace: str, identity: Identity) -> Iterable[Bound]:
        """The user's RoleBindings of the namespace; of "" its ClusterRoleBindings."""

    async def cluster_role(self, name: str) -> Object | None: ...
    async def role(self, namespace: str, name: str) -> Object | None: ...


class RuleSource(NamedTuple):
    """The rules of a role, or what kept them from being found."""

    rules: Sequence[Rule]
    error: str = ""


class Source(NamedTuple):
    """What one binding gives to the user. namespace: "" for a ClusterRoleBinding."""

    bound: Bound
    namespace: str
    rules: Sequence[Rule]
    error: str = ""


class UserRules(NamedTuple):
    """All rules of a user, but for what ``errors`` says; incomplete: an authorizer of the
    chain, such as a webhook, cannot list its rules."""

    rules: list[Rule]
    errors: list[str]
    incomplete: bool = False


async def authorize(attributes: Attributes, reader: Reader) -> Decision:
    """Allowed with "RBAC: allowed by ..." by the first rule that fits. system:masters need none:
    the chain (`apiserver.authorizers.chain`) has let them past before it asks here."""
    identity, errors = Identity.of(attributes.user), list[str]()
    namespace = attributes.namespace if attributes.is_resource else ""
    for place in (
        ("", namespace) if namespace else ("",)
    ):  # not sources(): to leave it early is dear
        for bound in await reader.bound(place, identity):
            rules, error = await role_rules(bound.binding["roleRef"], place, reader)
            if error:
                note(errors, error)
            for at, rule in enumerate(rules):
                if rule_allows(rule, attributes):
                    grant = Grant(*bound, place, rule, at)
                    return Decision(
                        True, f"RBAC: allowed by {_described(grant)}", False, "", grant, NAME
                    )
    return Decision(False, f"RBAC: {aggregate(errors)}" if errors else "")


async def rules_for(
    user: User, namespace: str, reader: Reader, most: float = inf, missing: str = ""
) -> UserRules:
    """Every rule that holds for the user cluster-wide and, where ``namespace`` is not "", in that
    namespace. ``most``: characters of them, after which no other role's are looked at: a thousand
    bindings may give one large role a thousand times. ``missing``: what roles that are not there
    are called, "" for what they are."""
    out, told = UserRules([], []), 0
    async for source in sources(user, namespace, reader, missing):
        if source.error:
            note(out.errors, source.error)
        if most < inf:
            told += sum(map(length, source.rules))
        if told > most:
            note(out.errors, f"the rules have more than {most:.0f} characters: some are left out")
            return out._replace(incomplete=True)
        out.rules.extend(source.rules)
    return out


def note(errors: list[str], error: str) -> None:
    """A user may be bound to any number of roles that are gone, and names may be long: an answer
    tells of some."""
    if len(errors) < MOST_ERRORS:
        errors.append(error[:MOST_ERROR_TEXT])


async def role_rules(
    role_ref: Object, namespace: str, reader: Reader, missing: str = ""
) -> RuleSource:
    """Rules of the role that a binding of ``namespace`` ("" for a ClusterRoleBinding) refers to.
    ``missing``: as in `rules_for`."""
    kind, name = role_ref.get("kind", ""), role_ref.get("name", "")
    if kind == "Role":
        role = await reader.role(namespace, name)
    elif kind == "ClusterRole":
        role = await reader.cluster_role(name)
    else:
        return RuleSource((), error=f"unsupported role reference kind: {go_quote(kind)}")
    if role is None:
        called = missing or f"{kind.lower()}.{GROUP}"
        return RuleSource((), error=f"{called} {go_quote(name)} not found")
    return RuleSource(role.get("rules") or ())


async def sources(
    user: User, namespace: str, reader: Reader, missing: str = ""
) -> AsyncIterator[Source]:
    """What each binding gives to the user, cluster-wide and, where ``namespace`` is not "", there;
    in the order in which a decision looks. ``missing``: as in `rules_for`."""
    identity = Identity.of(user)
    for place in ("", namespace) if namespace else ("",):
        for bound in await reader.bound(place, identity):
            rules = await role_rules(bound.binding["roleRef"], place, reader, missing)
            yield Source(bound, place, *rules)


def _described(grant: Grant) -> str:
    name, role_ref = grant.binding["metadata"]["name"], grant.binding["roleRef"]
    kind, label = (
        ("RoleBinding", f"{name}/{grant.namespace}")
        if grant.namespace
        else ("ClusterRoleBinding", name)
    )
    subject, to = grant.subject, grant.subject["name"]
    if subject["kind"] == "ServiceAccount":
        to = f"{to}/{subject.get('namespace') or grant.namespace}"
    role = f"{role_ref['kind']} {go_quote(role_ref['name'])}"
    return f"{kind} {go_quote(label)} of {role} to {subject['kind']} {go_quote(to)}"
