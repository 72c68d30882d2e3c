"""What a write of a ResourceClaim or a ResourceClaimTemplate asks beside the right to write it: a
namespace that is open for admin access, and of a claim's status rights on parts of it."""

from __future__ import annotations

from admission.rules import find_namespace, labels_of
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.claimstatus import status_errors
from apiserver.fielderrors import FieldErrors, FieldPath
from apiserver.kinds.resource import adminaccess
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.authorizer import decide
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope

_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")
_TEMPLATES = GroupResource("resource.k8s.io", "resourceclaimtemplates")


async def permission_errors(
    registry: Registry, scope: Scope, verb: str, new: Object, old: Object | None
) -> FieldErrors:
    """An empty list for all other resources. What a spec asks for is looked at once: it does not
    change. Raises NotFound where the namespace has gone meanwhile."""
    resource = scope.resource.group_resource
    if resource not in (_CLAIMS, _TEMPLATES):
        return []
    if old is None:
        spec = new.get("spec") or {}
        if resource == _TEMPLATES:
            spec = spec.get("spec") or {}
        return await _admin_errors(registry, scope, adminaccess.asked_for(spec))
    if scope.subresource != "status":
        return []
    statuses = new.get("status") or {}, old.get("status") or {}
    errors = await _admin_errors(registry, scope, adminaccess.granted_anew(*statuses))
    return errors + await _status_errors(registry, scope, verb, *statuses)


async def _admin_errors(registry: Registry, scope: Scope, path: FieldPath | None) -> FieldErrors:
    """``path``: of what asks for it, if anything does. Raises NotFound."""
    if path is None:
        return []
    namespace = await find_namespace(registry.lookup(scope.tenant), scope.namespace)
    refused = adminaccess.refusal(path, labels_of(namespace))
    return [] if refused is None else [refused]


async def _status_errors(
    registry: Registry, scope: Scope, verb: str, new: ReadOnlyObject, old: ReadOnlyObject
) -> FieldErrors:
    if not features.enabled("DRAResourceClaimGranularStatusAuthorization"):
        return []
    request = Attributes(
        scope.user,
        verb,
        _CLAIMS.group,
        scope.version,
        _CLAIMS.resource,
        scope.subresource,
        scope.namespace,
        scope.name,
    )
    lookup = registry.lookup(scope.tenant)

    async def authorize(question: Attributes) -> Decision:
        return await decide(lookup, question)

    return [error async for error in status_errors(new, old, request, authorize)]
