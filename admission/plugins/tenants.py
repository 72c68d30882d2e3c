"""TenantProtection: what the Tenant objects of tenant default may not suffer.

Each is held by a finalizer until its tenant is gone, one that is protected is not deleted, and
nobody but the server changes the definitions of these types: with a definition all its objects
go."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.request import TENANCY_GROUP

TENANTS = GroupResource(TENANCY_GROUP, "tenants")
FINALIZER = f"{TENANCY_GROUP}/tenant"
DEFAULT = "default"
_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_SERVER = frozenset({"system:kube-controller-manager", "system:apiserver"})


class TenantProtection:
    """home: the number of tenant default; nothing is guarded elsewhere."""

    name = "TenantProtection"

    def __init__(self, home: int) -> None:
        self._home = home

    def handles(self, attributes: Attributes) -> bool:
        return attributes.group_resource in (TENANTS, _DEFINITIONS)

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        obj = attributes.object
        if not self._guards(attributes, TENANTS) or obj is None or attributes.subresource:
            return
        metadata = obj["metadata"]
        finalizers = list(metadata.get("finalizers") or ())
        if FINALIZER not in finalizers and not metadata.get("deletionTimestamp"):
            metadata["finalizers"] = [*finalizers, FINALIZER]

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        if self._guards(attributes, _DEFINITIONS):
            name = _name(attributes)
            if name.endswith(f".{TENANCY_GROUP}") and attributes.user.name not in _SERVER:
                why = "this definition is Polyplane's own, and its objects would go with it"
                raise Forbidden(_DEFINITIONS, name, why)
        elif self._guards(attributes, TENANTS) and attributes.operation == "DELETE":
            _check_deletion(attributes)

    def _guards(self, attributes: Attributes, resource: GroupResource) -> bool:
        return attributes.tenant == self._home and attributes.group_resource == resource


def _check_deletion(attributes: Attributes) -> None:
    name = _name(attributes)
    if name == DEFAULT:
        why = "it answers URLs without /clusters/ and stays"
        raise Forbidden(TENANTS, name, why)
    if ((attributes.old or {}).get("spec") or {}).get("deletionProtection"):
        why = "it is protected from deletion; set spec.deletionProtection to false first"
        raise Forbidden(TENANTS, name, why)


def _name(attributes: Attributes) -> str:
    """Of the object at hand: the request's name is empty where a collection is deleted."""
    obj = attributes.object or attributes.old or {}
    return attributes.name or str((obj.get("metadata") or {}).get("name", ""))
