"""TenantProtection: what the Tenant objects of tenant default may not suffer.

Each is held by a finalizer until its tenant is gone, one that is protected is not deleted, and
nobody but the server changes the definitions of these types: with a definition all its objects
go.

As with a namespace, whose finalizer its subresource /finalize holds, a right to update is none to
end a deletion half-way:

| deletion asked for | update of tenants/finalizers | who takes the finalizer away |
|---|---|---|
| no | whether or not | has it put back |
| yes | no | 403 |
| yes | yes, the server | may |
"""

from __future__ import annotations

from admission.attributes import Attributes, Authorize, Lookup
from apiserver.authz import attributes as authz
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.request import TENANCY_GROUP

TENANTS = GroupResource(TENANCY_GROUP, "tenants")
FINALIZER = f"{TENANCY_GROUP}/tenant"
DEFAULT = "default"
_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_BY_FORCE = "to take it away before that needs the verb update on tenants/finalizers"
_SERVER = frozenset({"system:kube-controller-manager", "system:apiserver"})


class TenantProtection:
    """home: the number of tenant default; nothing is guarded elsewhere."""

    name = "TenantProtection"

    def __init__(self, home: int, authorize: Authorize) -> None:
        self._home, self._authorize = home, authorize

    def handles(self, attributes: Attributes) -> bool:
        return attributes.group_resource in (TENANTS, _DEFINITIONS)

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        obj = attributes.object
        if not self._guards(attributes, TENANTS) or obj is None or attributes.subresource:
            return
        metadata = obj["metadata"]
        if not _is_held(obj) and not metadata.get("deletionTimestamp"):
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), FINALIZER]

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        if self._guards(attributes, _DEFINITIONS):
            name = _name(attributes)
            if name.endswith(f".{TENANCY_GROUP}") and attributes.user.name not in _SERVER:
                why = "this definition is Polyplane's own, and its objects would go with it"
                raise Forbidden(_DEFINITIONS, name, why)
        elif self._guards(attributes, TENANTS):
            if attributes.operation == "DELETE":
                _check_deletion(attributes)
            elif _is_held(attributes.old) and not _is_held(attributes.object):
                await self._check_release(attributes, lookup)

    async def _check_release(self, attributes: Attributes, lookup: Lookup) -> None:
        """Whatever took it away: a webhook may do so after `admit`."""
        resource = attributes.resource
        question = authz.Attributes(
            attributes.user,
            "update",
            group=resource.group,
            version=resource.version,
            resource=resource.resource,
            subresource="finalizers",
            name=attributes.name,
        )
        if not (await self._authorize(lookup, question)).allowed:
            why = f"{FINALIZER} goes when the tenant is empty; {_BY_FORCE}"
            raise Forbidden(TENANTS, attributes.name, why)

    def _guards(self, attributes: Attributes, resource: GroupResource) -> bool:
        return attributes.tenant == self._home and attributes.group_resource == resource


def _is_held(obj: Object | None) -> bool:
    return FINALIZER in (((obj or {}).get("metadata") or {}).get("finalizers") or ())


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
