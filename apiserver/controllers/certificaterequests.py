"""CertificateSigningRequests for the signers of Kubernetes itself: kubelets' are approved by what
RBAC says, and what is approved is signed by the tenant's own authority (kubernetes
``pkg/controller/certificates/{approver,signer}``)."""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import orjson
from cryptography.hazmat.primitives.serialization import Encoding

from admission.plugins.certificates import REQUESTS
from apiserver.authn import signers
from apiserver.authn.clientca import ClientAuthority
from apiserver.authz.attributes import Attributes
from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.upkeep import Unchanged
from apiserver.kinds.certificates.requests import parsed_request
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now, parse_time
from apiserver.registry.authorizer import decide
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations
from apiserver.user import User

log = logging.getLogger("polyplane.controllers")

SETTLE = 0.1
"""Seconds after which a request is seen to: who approves it sees it approved and not issued yet, as
on a server whose controllers run elsewhere."""
_RARELY = 1000.0
"""Seconds between looks at most, at a request that RBAC does not let be approved."""
_MOST = 1000


class RequestSigner:
    """Looks at requests by their name."""

    controller = names.REQUEST_SIGNING
    resources = frozenset({REQUESTS})

    def __init__(self, actions: Actions, relations: Relations, authority: ClientAuthority) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, REQUESTS)
        self._authority = authority

    def concerned(self, event: Event) -> tuple[str, float] | None:
        due = event.type != "DELETED" and b'"Approved"' in event.record.data
        return (event.record.key.name, SETTLE) if due and _unissued(event) else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*REQUESTS, "", name)
        request = await self._actions.get(tenant, key)
        if request is not None and _to_sign(request):
            await self._actions.change(tenant, key, partial(self._issue, tenant), "status")
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        return await _missed(self._actions, self._unchanged, tenant, b'"Approved"')

    def _issue(self, tenant: Tenant, request: Object) -> bool:
        """Writes the certificate into the request's status, or why there is none."""
        if not _to_sign(request):
            return False
        spec, status = request["spec"], request["status"]
        usages = spec.get("usages") or []
        try:
            parsed = parsed_request(spec["request"])
            if why := signers.problem(spec["signerName"], parsed, usages):
                status["conditions"] = [*_conditions(request), _failed(why, now())]
                return True
            unsigned = signers.certificate(parsed, usages, spec.get("expirationSeconds"), now())
        except ValueError as e:
            log.info("%s is not signed: %s", request["metadata"]["name"], e)
            return False
        pem = self._authority.sign(tenant.id, unsigned).public_bytes(Encoding.PEM)
        status["certificate"] = base64.b64encode(pem).decode()
        return True


class RequestApprover:
    """Likewise. A kubelet's client certificate needs the right to create
    certificatesigningrequests/selfnodeclient (it is for who asks) or .../nodeclient."""

    controller = names.REQUEST_APPROVING
    resources = frozenset({REQUESTS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, REQUESTS)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        due = event.type != "DELETED" and signers.KUBELET_CLIENT.encode() in event.record.data
        return (event.record.key.name, SETTLE) if due and _unissued(event) else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        """Comes again ever more rarely to what may not be approved: rights change."""
        key = ObjectKey(*REQUESTS, "", name)
        request = await self._actions.get(tenant, key)
        if request is None or not _to_approve(request):
            return None
        rights = _rights(request)
        for right, message in rights:
            if await self._allowed(tenant, request["spec"], right):
                await self._actions.change(tenant, key, partial(_approve, message), "approval")
                return None
        age = now() - parse_time(request["metadata"]["creationTimestamp"])
        return min(max(age.total_seconds(), 1.0), _RARELY) if rights else None

    async def missed(self, tenant: int) -> Sequence[str]:
        signer = signers.KUBELET_CLIENT.encode()
        return await _missed(self._actions, self._unchanged, tenant, signer)

    async def _allowed(self, tenant: Tenant, spec: Object, right: str) -> bool:
        extra = {name: tuple(values) for name, values in (spec.get("extra") or {}).items()}
        groups = tuple(spec.get("groups") or ())
        asker = User(spec.get("username", ""), spec.get("uid", ""), groups, extra)
        question = Attributes(
            asker, "create", REQUESTS.group, "*", REQUESTS.resource, subresource=right
        )
        return (await decide(self._actions.registry.lookup(tenant), question)).allowed


def _rights(request: Object) -> list[tuple[str, str]]:
    """(subresource that the asker must be allowed to create, what the approval then says)."""
    spec = request["spec"]
    try:
        parsed = parsed_request(spec["request"])
        if not signers.is_kubelet_client(parsed, spec.get("usages") or []):
            return []
    except ValueError:
        return []
    text = "Auto approving {}kubelet client certificate after SubjectAccessReview."
    rights = [("nodeclient", text.format(""))]
    if spec.get("username") == signers.common_name(parsed.subject):
        rights.insert(0, ("selfnodeclient", text.format("self ")))
    return rights


def _approve(message: str, request: Object) -> bool:
    if not _to_approve(request):
        return False
    approved = {
        "type": "Approved",
        "status": "True",
        "reason": "AutoApproved",
        "message": message,
    }
    request.setdefault("status", {})["conditions"] = [*_conditions(request), approved]
    return True


def _failed(why: str, when: datetime) -> Object:
    return {
        "type": "Failed",
        "status": "True",
        "reason": "SignerValidationFailure",
        "message": why,
        "lastUpdateTime": format_time(when),
    }


def _to_sign(request: Object) -> bool:
    types = _true(request)
    return (
        "Approved" in types
        and not types & {"Denied", "Failed"}
        and not (request.get("status") or {}).get("certificate")
        and request["spec"].get("signerName") in signers.SIGNERS
    )


def _to_approve(request: Object) -> bool:
    return (
        request["spec"].get("signerName") == signers.KUBELET_CLIENT
        and not (request.get("status") or {}).get("certificate")
        and not {c.get("type") for c in _conditions(request)} & {"Approved", "Denied"}
    )


def _conditions(request: Object) -> list[Object]:
    return (request.get("status") or {}).get("conditions") or []


def _true(request: Object) -> set[str]:
    return {c.get("type", "") for c in _conditions(request) if c.get("status") == "True"}


def _unissued(event: Event) -> bool:
    return not (orjson.loads(event.record.data).get("status") or {}).get("certificate")


async def _missed(
    actions: Actions, unchanged: Unchanged, tenant: int, marker: bytes
) -> Sequence[str]:
    """The names of requests that have the marker, and no certificate."""
    due: list[str] = []
    if await unchanged.since_last(tenant):
        return due
    async for record in actions.each(tenant, REQUESTS):
        if marker in record.data:
            request = orjson.loads(record.data)
            if _to_sign(request) or _to_approve(request):
                due.append(record.key.name)
                if len(due) == _MOST:
                    break
    return due
