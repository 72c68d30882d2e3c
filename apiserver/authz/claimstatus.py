"""Who may change which part of a ResourceClaim's status (kubernetes ``pkg/registry/resource``
utils.go, the feature gate DRAResourceClaimGranularStatusAuthorization).

Beside ``resourceclaims/status``, which the request has been asked for: whoever binds a claim needs
its own verb on ``resourceclaims/binding``, everywhere; whoever tells of devices needs, for each
driver of a device that changes, ``arbitrary-node:<verb>`` on ``resourceclaims/driver`` with the
driver's name, or ``associated-node:<verb>`` where the claim is on its own node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from apiserver.authz.attributes import Attributes, Authorize, forbidden
from apiserver.fielderrors import FieldError, FieldPath
from apiserver.fielderrors import forbidden as field_forbidden
from apiserver.meta import names
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.user import NODE_NAME, User, split_service_account

_STATUS = FieldPath("status")


async def status_errors(
    new: ReadOnlyObject, old: ReadOnlyObject, request: Attributes, authorize: Authorize
) -> AsyncIterator[FieldError]:
    """``new``, ``old``: statuses of one claim; ``request``: of the status, with its own verb."""
    if any((new.get(m) or None) != (old.get(m) or None) for m in ("allocation", "reservedFor")):
        binding = request._replace(subresource="binding", namespace="", name="")
        if why := await _refused(binding, authorize):
            yield field_forbidden(
                _STATUS,
                "changing status.allocation or status.reservedFor requires "
                f'resource="resourceclaims/binding", verb="{binding.verb}" permission: {why}',
            )
    drivers = changed_drivers(new.get("devices") or [], old.get("devices") or [])
    verbs = [f"arbitrary-node:{request.verb}"]
    if drivers and _is_on(request.user, node_of(new.get("allocation"))):
        verbs.insert(0, f"associated-node:{request.verb}")
    for driver in sorted(drivers):
        part = request._replace(subresource="driver", name=driver)
        reasons = [part._replace(verb=verb) for verb in verbs]
        first = ""
        for question in reasons:
            why = await _refused(question, authorize)
            if not why:
                break
            first = first or why
        else:
            yield field_forbidden(
                _STATUS.child("devices"),
                'changing status.devices requires resource="resourceclaims/driver", '
                f'verb="[{" ".join(verbs)}]" permission: {first}',
            )


async def _refused(question: Attributes, authorize: Authorize) -> str:
    """Why; "" where it is allowed."""
    decision = await authorize(question)
    return "" if decision.allowed else forbidden(question, decision.reason).message


def changed_drivers(new: list[Object], old: list[Object]) -> set[str]:
    """Of devices that come, go or change."""
    before = {_identity(device): device for device in old}
    drivers = set()
    for device in new:
        if before.pop(_identity(device), None) != device:
            drivers.add(device.get("driver") or "")
    return drivers | {device.get("driver") or "" for device in before.values()}


def _identity(device: Object) -> tuple[str, ...]:
    return tuple(device.get(member) or "" for member in ("driver", "pool", "device", "shareID"))


def node_of(allocation: ReadOnlyObject | None) -> str:
    """The one node that the claim is allocated on, "" for none or several."""
    terms = ((allocation or {}).get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields = terms[0].get("matchFields") or []
    if len(fields) != 1:
        return ""
    (field,) = fields
    values = field.get("values") or []
    if (field.get("key"), field.get("operator"), len(values)) != ("metadata.name", "In", 1):
        return ""
    return str(values[0])


def _is_on(user: User, node: str) -> bool:
    """Whether the user is a service account whose token is bound to the node."""
    return (
        node != ""
        and split_service_account(user.name) is not None
        and user.extra.get(NODE_NAME) == (node,)
        and not names.dns1123_subdomain(node)
    )
