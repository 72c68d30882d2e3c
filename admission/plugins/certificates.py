"""CertificateSubjectRestriction, CertificateApproval, CertificateSigning: who may ask for, approve
and sign which certificates.

Source: kubernetes ``plugin/pkg/admission/certificates``. Approval and signing are rights on the
resource ``signers`` of certificates.k8s.io, by the signer's name or, for all signers of a domain,
by ``domain/*``.
"""

from __future__ import annotations

from admission.attributes import Attributes, Authorize, Lookup
from admission.objects import OfObjects
from apiserver.authz import attributes as authz
from apiserver.errors import Forbidden
from apiserver.golang.strconv import go_quote
from apiserver.kinds.certificates.requests import subject_organizations
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import MASTERS

REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


class CertificateSubjectRestriction(OfObjects):
    name = "CertificateSubjectRestriction"
    resources = frozenset({REQUESTS})

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        spec = (attributes.object or {}).get("spec") or {}
        if spec.get("signerName") == _CLIENT_SIGNER and MASTERS in subject_organizations(
            spec.get("request") or ""
        ):
            why = f"use of {_CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
            raise Forbidden(REQUESTS, attributes.name, why)


class _Authorized:
    """A subresource whose update needs a right on the signer."""

    subresource = verb = ""

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    def handles(self, attributes: Attributes) -> bool:
        return (
            attributes.group_resource == REQUESTS
            and attributes.subresource == self.subresource
            and attributes.operation == "UPDATE"
        )

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        old = attributes.old or {}
        if not self._changed(attributes.object or {}, old):
            return
        signer = (old.get("spec") or {}).get("signerName", "")
        for name in (signer, f"{signer.partition('/')[0]}/*"):
            question = authz.Attributes(
                attributes.user, self.verb, REQUESTS.group, "*", "signers", name=name
            )
            if (await self._authorize(lookup, question)).allowed:
                return
        why = f"user not permitted to {self.verb} requests with signerName {go_quote(signer)}"
        raise Forbidden(REQUESTS, attributes.name, why)

    def _changed(self, obj: Object, old: Object) -> bool:
        return True


class CertificateApproval(_Authorized):
    name = "CertificateApproval"
    subresource, verb = "approval", "approve"


class CertificateSigning(_Authorized):
    name = "CertificateSigning"
    subresource, verb = "status", "sign"

    def _changed(self, obj: Object, old: Object) -> bool:
        new, before = obj.get("status") or {}, old.get("status") or {}
        return any(
            (new.get(member) or None) != (before.get(member) or None)
            for member in ("certificate", "conditions")
        )
