"""What an editor of all tenants may do: in each, what its ClusterRole ``edit`` allows, as if a
ClusterRoleBinding gave it, aggregated rules for custom resources included.

Less what would make him somebody else, or let him give rights: a tenant's owner writes ``edit``
there, but nobody's role in the installation is his to widen. Not his are therefore

- Secrets, templates of tenants, which may hold some, tokens of service accounts, and to
  impersonate: each is the rights of any service account of the tenant, which may be all;
- every verb but those of reading and writing (``escalate``, ``bind``, ``approve``, ``sign``, ...);
- to write RBAC, or how tenants are declared;
- URLs that are no resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from apiserver.authorizers.links import Stateless, World
from apiserver.authorizers.rbac import RbacReader
from apiserver.authz.attributes import READING, WRITING, Attributes, Decision
from apiserver.authz.bindings import Indexes
from apiserver.authz.rbac import GROUP, UserRules
from apiserver.authz.rules import ALL, Rule, length, rule_allows, values
from apiserver.effort import spend
from apiserver.platformroles import EDITORS
from apiserver.request import TENANCY_GROUP
from apiserver.user import User

_ROLE = "edit"
_EDITING = Decision(
    True, f'the ClusterRole "{_ROLE}" allows it to the role {EDITORS}', authorizer=EDITORS
)
_NO_OPINION = Decision(False)
_VERBS = (*sorted(READING), *sorted(WRITING))
_ONLY_READ = frozenset({GROUP, TENANCY_GROUP})
"""Groups of which an editor writes nothing."""
MOST_TEXT = 1_000_000
"""Characters of what is served, and of names, that rules with "*" are compared with and told by."""
_STEPS = 50
"""(`apiserver.effort`) for a rule, beside one for each of its characters."""
_MORE = (
    f'the role {EDITORS} allows more: rules of the ClusterRole "{_ROLE}" say "{ALL}", of which is '
    f"listed what is served now"
)


def _is_kept_from(group: str, resource: str, full_resource: str) -> bool:
    """An editor, whatever the tenant's role says. full_resource: with the subresource."""
    if group == TENANCY_GROUP:
        return resource == "tenanttemplates"
    return group == "" and (resource == "secrets" or full_resource == "serviceaccounts/token")


def _is_an_editors(attributes: Attributes) -> bool:
    """Whatever the tenant's role says."""
    group, resource, verb = attributes.group, attributes.resource, attributes.verb
    return (
        attributes.is_resource
        and ALL not in (group, resource)
        and (verb in READING or (verb in WRITING and group not in _ONLY_READ))
        and not _is_kept_from(group, resource, attributes.full_resource)
    )


class Editing(Stateless):
    """A link that only allows."""

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        if EDITORS not in attributes.user.platform or not _is_an_editors(attributes):
            return _NO_OPINION
        rules = await self._edit(world)
        return _EDITING if any(rule_allows(rule, attributes) for rule in rules) else _NO_OPINION

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        if EDITORS not in user.platform:
            return UserRules([], [])
        rules, served = await self._edit(world), world.lookup.resources()
        return await world.lookup.run(lambda: _told(rules, served))

    async def _edit(self, world: World) -> Sequence[Rule]:
        role = await RbacReader(world, self._indexes).cluster_role(_ROLE)
        rules: Sequence[Rule] = (role or {}).get("rules") or ()
        return rules


# --- the rules of the role, less what is not an editor's ------------------------------------------
Served = Mapping[str, Sequence[str]]
"""Names of resources and of their subresources (``pods/log``) by their group."""


def _told(rules: Iterable[Rule], served: Served) -> UserRules:
    """All that can be said without "*", which would be more than an editor's; in time by the size
    of the role."""
    told: list[Rule] = []
    room, size = MOST_TEXT, sum(len(name) for names in served.values() for name in names)
    incomplete = False
    for rule in rules:
        spend(_STEPS + length(rule))
        named = _named(rule)
        told.extend(_limited(named))
        if _verbs(rule) and any(len(named[of]) < len(values(rule, of)) for of in _OF_MANY):
            incomplete = True
            cost = size + len(served) * sum(map(len, values(rule, "resourceNames")))
            if cost <= room:
                spend(cost)
                room -= cost
                for part in _listed(rule, named, served):
                    told.extend(_limited(part))
    return UserRules(told, [_MORE] if incomplete else [], incomplete)


_OF_MANY = ("apiGroups", "resources")
_ALIKE = ALL
"""Groups of which an editor is kept from nothing that the rule names."""


def _named(rule: Rule) -> Rule:
    """What of the rule is about resources by their names."""
    groups = [group for group in values(rule, "apiGroups") if group != ALL]
    resources = [name for name in values(rule, "resources") if not _is_of_many(name)]
    return {**rule, "apiGroups": groups, "resources": resources}


def _is_of_many(resource: str) -> bool:
    return resource == ALL or resource.startswith(f"{ALL}/")


def _listed(rule: Rule, named: Rule, served: Served) -> Iterator[Rule]:
    """What is served of the rest, group by group."""
    groups, known = set(values(rule, "apiGroups")), set(values(named, "resources"))
    wanted = set(values(rule, "resources"))
    for group, names in served.items():
        if group not in groups and ALL not in groups:
            continue
        left_out = known if group in groups else frozenset[str]()
        found = [name for name in names if name not in left_out and _is_wanted(name, wanted)]
        yield {**rule, "apiGroups": [group], "resources": found}


def _is_wanted(name: str, wanted: set[str]) -> bool:
    _, slash, subresource = name.partition("/")
    return ALL in wanted or name in wanted or (slash != "" and f"{ALL}/{subresource}" in wanted)


def _verbs(rule: Rule) -> list[str]:
    held = set(values(rule, "verbs"))
    return [verb for verb in _VERBS if ALL in held or verb in held]


def _limited(rule: Rule) -> Iterator[Rule]:
    """What is an editor's of a rule without "*" in groups and resources."""
    verbs, resources = _verbs(rule), values(rule, "resources")
    less = {group: _left(group, resources) for group in ("", TENANCY_GROUP)}
    parts: dict[tuple[str, bool], list[str]] = {}
    for group in values(rule, "apiGroups"):
        alone = group if less.get(group, resources) != resources else _ALIKE
        parts.setdefault((alone, group in _ONLY_READ), []).append(group)
    for (alone, is_only_read), groups in parts.items():
        names = less.get(alone, resources)
        may = [verb for verb in verbs if verb in READING] if is_only_read else verbs
        if names and may:
            part = {"verbs": may, "apiGroups": groups, "resources": names}
            only = values(rule, "resourceNames")
            yield {**part, "resourceNames": only} if only else part


def _left(group: str, resources: Sequence[str]) -> list[str]:
    return [r for r in resources if not _is_kept_from(group, r.partition("/")[0], r)]
