"""NamespaceLifecycle: nothing is written into a namespace that is missing, nothing created in one
that is terminating; system namespaces cannot be deleted.

Source: k8s.io/apiserver ``admission/plugin/namespace/lifecycle/admission.go``."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.refusal import forbidden
from admission.rules import NAMESPACES, find_namespace
from apiserver.meta.gvk import GroupResource

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_ACCESS_REVIEWS = frozenset({GroupResource("authorization.k8s.io", "localsubjectaccessreviews")})


class NamespaceLifecycle:
    name = "NamespaceLifecycle"

    def handles(self, attributes: Attributes) -> bool:
        if attributes.group_resource == NAMESPACES:
            return attributes.operation == "DELETE"
        return attributes.operation in ("CREATE", "UPDATE") and bool(attributes.namespace)

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        resource = attributes.group_resource
        if resource == NAMESPACES:
            if attributes.name not in IMMORTAL:
                return
            raise forbidden(attributes, "this namespace may not be deleted")
        if resource in _ACCESS_REVIEWS:
            return
        namespace = await find_namespace(lookup, attributes.namespace)
        ends = namespace.get("status", {}).get("phase") == "Terminating"
        if ends and attributes.operation == "CREATE":
            self._refuse(attributes, namespace)

    def _refuse(self, attributes: Attributes, namespace: dict[str, object]) -> None:
        why = (
            f"unable to create new content in namespace {attributes.namespace} because it "
            f"is being terminated"
        )
        error = forbidden(attributes, why)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {attributes.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        raise error
