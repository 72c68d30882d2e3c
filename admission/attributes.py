"""Attributes: what an admission plugin sees of a request (k8s.io/apiserver ``admission.Attributes``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.user import User

Object = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Lookup(Protocol):
    """Reads objects of the request's tenant, in their storage version; what it returns must not be changed."""

    async def get(self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False) -> Object | None:
        """One object; ``fresh`` asks the database instead of a cache that may lag by a moment."""

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        """All objects of a resource, of one namespace or (namespace "") of all."""


@dataclass(slots=True)
class Attributes:
    """object: the new state (None for DELETE); old: the stored state (None for CREATE); both in the request's version.

    Mutating plugins change ``object`` in place. warnings: texts for Warning headers; audit_annotations: for the audit event."""

    tenant: int
    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource
    subresource: str
    namespace: str
    name: str
    object: Object | None
    old: Object | None
    user: User
    dry_run: bool = False
    options: Object = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    audit_annotations: dict[str, str] = field(default_factory=dict)
    namespaced: bool = True

    group_resource: GroupResource = field(init=False)
    """Of ``resource``; every plugin asks for it."""

    def __post_init__(self) -> None:
        self.group_resource = GroupResource(self.resource.group, self.resource.resource)
