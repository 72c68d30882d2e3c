"""Questions that everybody who is known may ask, without a role that would stand among the tenant's
own: in tenant default, which tenants he owns; in every tenant, those that are answered with nothing
but what he may read anyhow, and how far back the log reaches, which says nothing of any object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver.authorizers.links import Stateless, World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.meta.gvk import GroupResource
from apiserver.request import (
    ADMISSION_USE_REVIEWS,
    DEFAULT_TENANT,
    DEPENDENT_REVIEWS,
    EXPRESSION_REVIEWS,
    GRANT_REVIEWS,
    OBJECT_COUNTS,
    OBJECT_SEARCHES,
    OWN_TENANTS,
    RETAINED_LOGS,
)
from apiserver.user import AUTHENTICATED, User

Verbs = Mapping[GroupResource, Sequence[str]]

_NO_OPINION = Decision(False)
_EVERYWHERE: Verbs = {
    **dict.fromkeys(
        (
            DEPENDENT_REVIEWS,
            OBJECT_COUNTS,
            OBJECT_SEARCHES,
            GRANT_REVIEWS,
            EXPRESSION_REVIEWS,
            ADMISSION_USE_REVIEWS,
        ),
        ("create",),
    ),
    RETAINED_LOGS: ("get", "list"),
}
_IN_DEFAULT: Verbs = {**_EVERYWHERE, OWN_TENANTS: ("create",)}


def _verbs(world: World, user: User) -> Verbs:
    """What the user may do there, to no subresource."""
    if AUTHENTICATED not in user.groups:
        return {}
    return _IN_DEFAULT if world.name == DEFAULT_TENANT else _EVERYWHERE


class OwnQuestions(Stateless):
    """A link that only allows."""

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        if not attributes.is_resource or attributes.subresource:
            return _NO_OPINION
        asked = GroupResource(attributes.group, attributes.resource)
        if attributes.verb in _verbs(world, attributes.user).get(asked, ()):
            return Decision(True, authorizer=asked.resource)
        return _NO_OPINION

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        rules = [
            {"verbs": list(verbs), "apiGroups": [of.group], "resources": [of.resource]}
            for of, verbs in _verbs(world, user).items()
        ]
        return UserRules(rules, [])
