"""What who keeps tenants may do: declare them, as objects of tenant default. What is declared of
tenant default itself is not his to change: it has the right to all of this."""

from __future__ import annotations

from apiserver.authorizers.links import Stateless, World
from apiserver.authz.attributes import READING, WRITING, Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.authz.rules import Rule, rule_allows
from apiserver.platformroles import TENANT_ADMINS
from apiserver.request import DEFAULT_TENANT, TENANCY_GROUP
from apiserver.user import User

_YES, _NO_OPINION = Decision(True, authorizer=TENANT_ADMINS), Decision(False)
_TENANTS, _TEMPLATES = "tenants", "tenanttemplates"


def _rule(verbs: frozenset[str], *resources: str, **more: list[str]) -> Rule:
    return {"verbs": sorted(verbs), "apiGroups": [TENANCY_GROUP], "resources": [*resources], **more}


_RULES = [
    _rule(READING, _TENANTS, _TEMPLATES),
    _rule(WRITING, _TEMPLATES),
    _rule(WRITING, _TENANTS, resourceNames=[""]),  # what names none: a POST, and all at once
]
_WRITES_NAMED = _rule(WRITING, _TENANTS)
"""But for one name, which no rule can say."""
_MORE = (
    f"the role {TENANT_ADMINS} allows more: to write each of the {_TENANTS}.{TENANCY_GROUP} "
    f'but "{DEFAULT_TENANT}"'
)


class Keeping(Stateless):
    """A link that only allows."""

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        if not (TENANT_ADMINS in attributes.user.platform and world.name == DEFAULT_TENANT):
            return _NO_OPINION
        if any(rule_allows(rule, attributes) for rule in _RULES) or (
            attributes.name != DEFAULT_TENANT and rule_allows(_WRITES_NAMED, attributes)
        ):
            return _YES
        return _NO_OPINION

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        if not (TENANT_ADMINS in user.platform and world.name == DEFAULT_TENANT):
            return UserRules([], [])
        return UserRules([*_RULES], [_MORE], incomplete=True)
