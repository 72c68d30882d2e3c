"""OwnerReferencesPermissionEnforcement: owners are changed by those who may delete the object, and
kept waiting by those who may set finalizers on them (kubernetes ``plugin/pkg/admission/gc``)."""

from __future__ import annotations

from collections.abc import Sequence

from admission.attributes import Attributes, Authorize, Lookup
from admission.objects import PODS
from admission.refusal import forbidden
from apiserver.authz import attributes as authz
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.meta.objects import Object


class OwnerReferencesPermissionEnforcement:
    name = "OwnerReferencesPermissionEnforcement"

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    def handles(self, attributes: Attributes) -> bool:
        if attributes.operation not in ("CREATE", "UPDATE") or attributes.object is None:
            return False
        return (attributes.group_resource, attributes.subresource) != (PODS, "status")

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        owners, before = _owners(attributes.object), _owners(attributes.old)
        if owners == before:
            return
        if attributes.operation != "CREATE":  # what one creates one may give away
            await self._check_deletion(attributes, lookup)
        blocked = {o.get("uid") for o in before if o.get("blockOwnerDeletion")}
        for owner in owners:
            if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocked:
                await self._check_owner(attributes, lookup, owner)

    async def _check_deletion(self, attributes: Attributes, lookup: Lookup) -> None:
        resource = attributes.resource
        question = authz.Attributes(
            attributes.user,
            "delete",
            group=resource.group,
            version=resource.version,
            resource=resource.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        decision = await self._authorize(lookup, question)
        if not decision.allowed:
            why = f"cannot set an ownerRef on a resource you can't delete: {decision.reason}, <nil>"
            raise forbidden(attributes, why)

    async def _check_owner(self, attributes: Attributes, lookup: Lookup, owner: Object) -> None:
        version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        gvk = GroupVersionKind(*GroupVersion.parse(version), kind)
        served = lookup.kind(gvk)
        if served is None:
            why = (
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
                f'APIVersion {version} Kind {kind}: no matches for kind "{kind}" in version '
                f'"{version}"'
            )
            raise forbidden(attributes, why)
        question = authz.Attributes(
            attributes.user,
            "update",
            group=served.resource.group,
            version=served.resource.version,
            resource=served.resource.resource,
            subresource="finalizers",
            namespace=attributes.namespace if served.namespaced else "",
            name=owner.get("name", ""),
        )
        decision = await self._authorize(lookup, question)
        if not decision.allowed:
            why = (
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't "
                f"set finalizers on: {decision.reason}, <nil>"
            )
            raise forbidden(attributes, why)


def _owners(obj: Object | None) -> Sequence[Object]:
    return ((obj or {}).get("metadata") or {}).get("ownerReferences") or []
