"""What who reads the installation's metrics may do: read them, as paths of tenant default. Which
metrics they are then: `apiserver.endpoints.views.metrics`."""

from __future__ import annotations

from apiserver.authorizers.links import Stateless, World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.authz.rules import rule_allows
from apiserver.platformroles import METRICS_READERS
from apiserver.request import DEFAULT_TENANT
from apiserver.user import User

_YES, _NO_OPINION = Decision(True, authorizer=METRICS_READERS), Decision(False)
_RULE = {"verbs": ["get"], "nonResourceURLs": ["/metrics", "/metrics/slis"]}
"""Of kube-apiserver's `system:monitoring`, what is about metrics; the rest of it everybody has who
is known."""


class Measuring(Stateless):
    """A link that only allows."""

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        return (
            _YES
            if _reads(world, attributes.user) and rule_allows(_RULE, attributes)
            else (_NO_OPINION)
        )

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        return UserRules([_RULE] if _reads(world, user) else [], [])


def _reads(world: World, user: User) -> bool:
    return METRICS_READERS in user.platform and world.name == DEFAULT_TENANT
