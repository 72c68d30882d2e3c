"""Who decides about requests: what all authorizers have in common, and the two that know their
answer beforehand."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from admission.attributes import Lookup
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.user import User


class World(NamedTuple):
    """The tenant that is asked about. lookup: reads its objects."""

    tenant: int
    name: str
    lookup: Lookup


class Link(Protocol):
    """One of a chain of authorizers. A decision that neither allows nor denies leaves the question
    to the next."""

    async def authorize(self, world: World, attributes: Attributes) -> Decision: ...

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules: ...

    def forget(self, tenant: int) -> None:
        """Drops what is kept of the tenant."""

    def close(self) -> None:
        """It is not asked any more."""


class Named(NamedTuple):
    """An authorizer as the configuration names it."""

    name: str
    type: str
    link: Link


class Stateless:
    """A link that keeps nothing."""

    def forget(self, tenant: int) -> None:
        pass

    def close(self) -> None:
        pass


class AlwaysAllow(Stateless):
    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        return Decision(True, authorizer="alwaysallow")

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        return UserRules([everything, {"verbs": ["*"], "nonResourceURLs": ["*"]}], [])


class AlwaysDeny(Stateless):
    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        return Decision(False, "Everything is forbidden.")

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        return UserRules([], [])
