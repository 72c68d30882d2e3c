"""What a viewer of all tenants sees in the console: any object but Secrets and what may hold some,
as it is."""

from __future__ import annotations

from apiserver.authorizers.links import Stateless, World
from apiserver.authz.attributes import READING, Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.meta.gvk import GroupResource
from apiserver.platformroles import LOOKING, VIEWERS
from apiserver.request import TENANCY_GROUP
from apiserver.user import User

_YES, _NO_OPINION = Decision(True, authorizer=VIEWERS), Decision(False)
_SEEN = frozenset({"", "status", "scale"})
"""Subresources that are the object again. Others act, even by GET (pods/exec)."""
_HIDDEN = frozenset({GroupResource("", "secrets"), GroupResource(TENANCY_GROUP, "tenanttemplates")})
"""Secrets, and what has objects of any kind in it, Secrets among them."""
_MORE = f"the role {VIEWERS} allows more: to get, list and watch also what is not served now"


def _is_seen(group: str, resource: str, subresource: str) -> bool:
    return subresource in _SEEN and GroupResource(group, resource) not in _HIDDEN


class Looking(Stateless):
    """A link that only allows."""

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        if (
            LOOKING in attributes.user.platform
            and attributes.is_resource
            and attributes.verb in READING
            and attributes.resource != "*"
            and attributes.group != "*"
            and _is_seen(attributes.group, attributes.resource, attributes.subresource)
        ):
            return _YES
        return _NO_OPINION

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        """By the names of what is served: no rule says "all but Secrets"."""
        if LOOKING not in user.platform:
            return UserRules([], [])
        rules = []
        for group, names in world.lookup.resources().items():
            if seen := [name for name in names if _is_seen(group, *_parted(name))]:
                rules.append({"verbs": sorted(READING), "apiGroups": [group], "resources": seen})
        return UserRules(rules, [_MORE], incomplete=True)


def _parted(name: str) -> tuple[str, str]:
    resource, _, subresource = name.partition("/")
    return resource, subresource
