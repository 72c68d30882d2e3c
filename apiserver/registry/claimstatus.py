"""What a change of a ResourceClaim's status asks of the user beside the right to change it."""

from __future__ import annotations

from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.claimstatus import status_errors
from apiserver.fielderrors import FieldErrors
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import decide
from apiserver.registry.core import Registry
from apiserver.registry.scope import Scope

_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")


async def permission_errors(
    registry: Registry, scope: Scope, verb: str, new: Object, old: Object | None
) -> FieldErrors:
    """An empty list for all but the status of a ResourceClaim."""
    if scope.subresource != "status" or scope.resource.group_resource != _CLAIMS or old is None:
        return []
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

    statuses = new.get("status") or {}, old.get("status") or {}
    return [error async for error in status_errors(*statuses, request, authorize)]
