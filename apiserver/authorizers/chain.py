"""Authority: the authorizers of the installation, one after the other (k8s.io/apiserver
``authorization/union``). The first that allows or denies has decided; system:masters comes before
all of them."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.authorizers import counts
from apiserver.authorizers.editing import edits
from apiserver.authorizers.links import Named, World
from apiserver.authorizers.nodes import Node
from apiserver.authorizers.rbac import Rbac, RbacReader
from apiserver.authz import explain, grants
from apiserver.authz.attributes import READING, WRITING, Attributes, Decision
from apiserver.authz.bindings import Indexes
from apiserver.authz.rbac import UserRules
from apiserver.errors import aggregate
from apiserver.meta.gvk import GroupResource
from apiserver.platformroles import EDITORS, LOOKING, TENANT_ADMINS, VIEWERS
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
    TENANCY_GROUP,
)
from apiserver.user import AUTHENTICATED, MASTERS, User

_MASTERS = Decision(True, authorizer=MASTERS)
_OF_WHAT_ONE_MAY_READ = frozenset(
    {
        DEPENDENT_REVIEWS,
        OBJECT_COUNTS,
        OBJECT_SEARCHES,
        GRANT_REVIEWS,
        EXPRESSION_REVIEWS,
        ADMISSION_USE_REVIEWS,
    }
)


def _own_question(world: World, attributes: Attributes) -> Decision | None:
    """Questions that everybody who is known may ask, without a role that would stand among the
    tenant's own: in tenant default, which tenants he owns; in every tenant, those that are answered
    with nothing but what he may read anyhow, and how far back the log reaches, which says nothing
    of any object."""
    if not (
        not attributes.subresource
        and attributes.is_resource
        and AUTHENTICATED in attributes.user.groups
    ):
        return None
    asked = GroupResource(attributes.group, attributes.resource)
    if attributes.verb in ("get", "list") and asked == RETAINED_LOGS:
        return Decision(True, authorizer=asked.resource)
    if attributes.verb != "create":
        return None
    if asked in _OF_WHAT_ONE_MAY_READ or (asked == OWN_TENANTS and world.name == DEFAULT_TENANT):
        return Decision(True, authorizer=asked.resource)
    return None


_LOOKING = Decision(True, authorizer=VIEWERS)
_SEEN = frozenset({"", "status", "scale"})
"""Subresources that are the object again. Others act, even by GET (pods/exec)."""
_HIDDEN = frozenset({GroupResource("", "secrets"), GroupResource(TENANCY_GROUP, "tenanttemplates")})
"""Secrets, and what has objects of any kind in it, Secrets among them."""


def _only_looks(attributes: Attributes) -> bool:
    """Whether it is what a viewer of all tenants sees in the console: any object but Secrets and
    what may hold some, as it is."""
    return (
        attributes.is_resource
        and attributes.verb in READING
        and attributes.subresource in _SEEN
        and GroupResource(attributes.group, attributes.resource) not in _HIDDEN
        and attributes.resource != "*"
        and attributes.group != "*"
    )


_KEEPING = Decision(True, authorizer=TENANT_ADMINS)
_DECLARED = frozenset({"tenants", "tenanttemplates"})


def _keeps_tenants(world: World, attributes: Attributes) -> bool:
    """Whether it is about how tenants are declared, as objects of tenant default. What is declared
    of tenant default itself is not among it: it has the right to all of this."""
    if not (
        world.name == DEFAULT_TENANT
        and attributes.is_resource
        and attributes.group == TENANCY_GROUP
        and attributes.resource in _DECLARED
        and not attributes.subresource
    ):
        return False
    own = attributes.resource == "tenants" and attributes.name == DEFAULT_TENANT
    return attributes.verb in READING or (attributes.verb in WRITING and not own)


class Authority:
    """One per process. indexes: those that RBAC uses, whatever the chain is; looks_at_selectors:
    whether an authorizer wants to know the selectors of a list: webhooks are told them."""

    def __init__(self) -> None:
        self.indexes = Indexes()
        self._links: Sequence[Named] = ()
        self.looks_at_selectors = False
        self.use([Named("node", "Node", Node()), Named("rbac", "RBAC", Rbac(self.indexes))])

    def use(self, links: Sequence[Named]) -> Sequence[Named]:
        """From now on these decide. Those before are returned: they are still asked, where a
        question is under way, and are closed by whoever calls."""
        before, self._links = self._links, links
        self.looks_at_selectors = any(named.type == "Webhook" for named in links)
        return before

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        if MASTERS in attributes.user.groups:
            return _MASTERS
        reasons, errors = [], []
        for named in self._links:
            decision = await named.link.authorize(world, attributes)
            if decision.allowed or decision.denied:
                counts.decided(named.type, named.name, allowed=decision.allowed)
                return decision
            if decision.reason:
                reasons.append(decision.reason)
            if decision.error:
                errors.append(decision.error)
        if (own := _own_question(world, attributes)) is not None:
            return own
        if LOOKING in attributes.user.platform and _only_looks(attributes):
            return _LOOKING
        if TENANT_ADMINS in attributes.user.platform and _keeps_tenants(world, attributes):
            return _KEEPING
        if EDITORS in attributes.user.platform and (
            editing := await edits(attributes, self.reader(world))
        ):
            return editing
        return Decision(False, "\n".join(reasons), error=aggregate(errors) if errors else "")

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        """What all of them allow; incomplete where one cannot tell."""
        out = UserRules([], [])
        for named in self._links:
            allowed = await named.link.rules_for(world, user, namespace)
            out.rules.extend(allowed.rules)
            out.errors.extend(allowed.errors)
            out = out._replace(incomplete=out.incomplete or allowed.incomplete)
        platform = {LOOKING, EDITORS}
        if world.name == DEFAULT_TENANT:
            platform.add(TENANT_ADMINS)
        if user.platform & platform:  # which no rule can say: all but Secrets, or but one tenant
            out = out._replace(incomplete=True)
        return out

    async def explain(self, world: World, attributes: Attributes) -> explain.Explanation:
        """The decision, and what RBAC has to say about it."""
        decision = await self.authorize(world, attributes)
        consulted = any(named.type == "RBAC" for named in self._links)
        return await explain.explain(
            attributes, decision, self.reader(world) if consulted else None
        )

    async def grants(self, world: World, asked: grants.Asked, may: grants.May) -> grants.Granted:
        """What RBAC allows to whom, of what whoever asks may see; who else allows more."""
        others = [named.name for named in self._links if named.type != "RBAC"]
        if len(others) == len(self._links):
            found = grants.Granted()
        else:
            found = await grants.find(asked, self.reader(world), may)
        found.others = [MASTERS, *others, VIEWERS, EDITORS]
        if world.name == DEFAULT_TENANT:
            found.others.append(TENANT_ADMINS)
        return found

    def reader(self, world: World) -> RbacReader:
        return RbacReader(world, self.indexes)

    def forget(self, tenant: int) -> None:
        self.indexes.forget(tenant)
        for named in self._links:
            named.link.forget(tenant)
