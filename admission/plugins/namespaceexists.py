"""NamespaceExists: nothing happens in a namespace that is not there (kubernetes
``plugin/pkg/admission/namespace/exists``)."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from apiserver.errors import NotFound
from apiserver.meta.gvk import GroupResource

NAMESPACES = GroupResource("", "namespaces")


class NamespaceExists:
    name = "NamespaceExists"

    def handles(self, attributes: Attributes) -> bool:
        return (
            bool(attributes.namespace)
            and attributes.group_resource != NAMESPACES
            and attributes.operation != "CONNECT"
        )

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        namespace = await lookup.get(NAMESPACES, "", attributes.namespace)
        if namespace is None:
            namespace = await lookup.get(NAMESPACES, "", attributes.namespace, fresh=True)
        if namespace is None:
            raise NotFound(NAMESPACES, attributes.namespace)
