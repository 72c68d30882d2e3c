"""NamespaceLifecycle: nothing is created in a namespace that is missing or terminating; system
namespaces cannot be deleted."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.rules import NAMESPACES, find_namespace
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupResource

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_ACCESS_REVIEWS = frozenset({GroupResource("authorization.k8s.io", "localsubjectaccessreviews")})


class NamespaceLifecycle:
    name = "NamespaceLifecycle"

    def handles(self, attributes: Attributes) -> bool:
        if attributes.group_resource == NAMESPACES:
            return attributes.operation == "DELETE"
        return attributes.operation == "CREATE" and bool(attributes.namespace)

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        resource = attributes.group_resource
        if resource == NAMESPACES:
            if attributes.name not in IMMORTAL:
                return
            raise Forbidden(resource, attributes.name, "this namespace may not be deleted")
        if resource in _ACCESS_REVIEWS:
            return
        namespace = await find_namespace(lookup, attributes.namespace)
        if namespace.get("status", {}).get("phase") == "Terminating":
            self._refuse(attributes, namespace)

    def _refuse(self, attributes: Attributes, namespace: dict[str, object]) -> None:
        why = (
            f"unable to create new content in namespace {attributes.namespace} because it "
            f"is being terminated"
        )
        error = Forbidden(attributes.group_resource, attributes.name, why)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {attributes.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        raise error
