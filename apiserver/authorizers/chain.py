"""Authority: the authorizers of the installation, one after the other (k8s.io/apiserver
``authorization/union``). The first that allows or denies has decided; system:masters comes before
all of them. After them come those that allow, and deny nothing: what everybody who is known may
ask, and what holders of a role in the installation (`apiserver.platformroles`) may do."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.authorizers import counts
from apiserver.authorizers.editing import Editing
from apiserver.authorizers.keeping import Keeping
from apiserver.authorizers.links import Link, Named, World
from apiserver.authorizers.looking import Looking
from apiserver.authorizers.measuring import Measuring
from apiserver.authorizers.nodes import Node
from apiserver.authorizers.ownquestions import OwnQuestions
from apiserver.authorizers.rbac import Rbac, RbacReader
from apiserver.authz import explain, grants
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.bindings import Indexes
from apiserver.authz.rbac import UserRules
from apiserver.errors import aggregate
from apiserver.platformroles import EDITORS, TENANT_ADMINS, VIEWERS
from apiserver.request import DEFAULT_TENANT
from apiserver.user import MASTERS, User

_MASTERS = Decision(True, authorizer=MASTERS)


class Authority:
    """One per process. indexes: those that RBAC uses, whatever the chain is; looks_at_selectors:
    whether an authorizer wants to know the selectors of a list: webhooks are told them."""

    def __init__(self) -> None:
        self.indexes = Indexes()
        self._of_all: Sequence[Link] = (OwnQuestions(),)
        self._of_holders: Sequence[Link] = (
            *self._of_all,
            Looking(),
            Keeping(),
            Measuring(),
            Editing(self.indexes),
        )
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
        for link in self._of_holders if attributes.user.platform else self._of_all:
            decision = await link.authorize(world, attributes)
            if decision.allowed:
                return decision
        return Decision(False, "\n".join(reasons), error=aggregate(errors) if errors else "")

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        """What all of them allow; incomplete where one cannot tell. Who holds no role in the
        installation is told what kube-apiserver would tell: not the questions that everybody may
        ask."""
        links = [named.link for named in self._links]
        if user.platform and MASTERS not in user.groups:
            links.extend(self._of_holders)
        out = UserRules([], [])
        for link in links:
            allowed = await link.rules_for(world, user, namespace)
            out.rules.extend(allowed.rules)
            out.errors.extend(allowed.errors)
            out = out._replace(incomplete=out.incomplete or allowed.incomplete)
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
