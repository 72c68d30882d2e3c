"""A request of a node, and why it is refused."""

from __future__ import annotations

from dataclasses import dataclass

from admission.attributes import Attributes, Authorize, Lookup, Operation
from apiserver.errors import NotFound
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

_CLUSTER = frozenset({GroupResource("", "nodes")})


class Refusal(Exception):
    """The node may not do this. The text says why, for the 403 that the client gets."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A write that a kubelet wants to make. node: the name of its node, from its user name."""

    node: str
    attributes: Attributes
    lookup: Lookup
    authorize: Authorize

    @property
    def new(self) -> Object:
        return self.attributes.object or {}

    @property
    def old(self) -> Object:
        return self.attributes.old or {}

    @property
    def own_name(self) -> str:
        """The name of the object that the request is about; on create it is in the body only."""
        if self.attributes.operation == "CREATE":
            name: str = self.new["metadata"].get("name", "")
            return name
        return self.attributes.name

    def expect(self, operation: Operation) -> None:
        """Raises Refusal when the request is another operation."""
        if self.attributes.operation != operation:
            raise Refusal(f'unexpected operation "{self.attributes.operation}"')

    async def find(self, resource: GroupResource, name: str) -> Object:
        """An object of the request's namespace, or a node. Raises NotFound."""
        namespace = "" if resource in _CLUSTER else self.attributes.namespace
        obj = await self.lookup.get(resource, namespace, name)
        if obj is None:  # a cache may lag
            obj = await self.lookup.get(resource, namespace, name, fresh=True)
        if obj is None:
            raise NotFound(resource, name)
        return obj
