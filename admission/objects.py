"""What most plugins are about: whole objects of a few kinds, not their subresources."""

from __future__ import annotations

from collections.abc import Collection

from admission.attributes import Attributes
from apiserver.meta.gvk import GroupResource

PODS = GroupResource("", "pods")
CREATE: Collection[str] = ("CREATE",)
UPDATE: Collection[str] = ("UPDATE",)
WRITES: Collection[str] = ("CREATE", "UPDATE")


class OfObjects:
    """A plugin that is told of ``operations`` on objects of ``resources``."""

    resources: Collection[GroupResource] = frozenset({PODS})
    operations: Collection[str] = CREATE

    def handles(self, attributes: Attributes) -> bool:
        return (
            attributes.group_resource in self.resources
            and not attributes.subresource
            and attributes.operation in self.operations
        )
