"""Node: kubelets, by what belongs to their node (apiserver.authz.node)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from apiserver.authorizers.links import Stateless, World
from apiserver.authz import node
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.authz.rules import Rule
from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.meta.times import now
from apiserver.user import User

_ROLE = ("ClusterRole", "system:node")
_NO_OPINION = Decision(False)


class Node(Stateless):
    """The link of a chain."""

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        if not attributes.user.name.startswith(node.PREFIX):
            return _NO_OPINION
        decision = await node.authorize(attributes, world.lookup, node_rules())
        return decision._replace(authorizer="node") if decision.allowed else decision

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        if not node.is_node(user):
            return UserRules([], [])
        return UserRules([], [node.NO_RULES], incomplete=True)


@cache
def node_rules() -> Sequence[Rule]:
    """Those of the ClusterRole system:node as it comes, whatever a tenant makes of it."""
    objects = bootstrap_objects(now())
    role = next(o for o in objects if (o["kind"], o["metadata"]["name"]) == _ROLE)
    rules: Sequence[Rule] = role["rules"]
    return rules
