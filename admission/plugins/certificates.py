"""CertificateSubjectRestriction, CertificateApproval, CertificateSigning, ClusterTrustBundleAttest:
who may ask for, approve and sign which certificates, and say whom a signer's trust.

Source: kubernetes ``plugin/pkg/admission/certificates``. Approval, signing and attesting are rights
on the resource ``signers`` of certificates.k8s.io, by the signer's name or, for all signers of a
domain, by ``domain/*``.
"""

from __future__ import annotations

from admission.attributes import Attributes, Authorize, Lookup
from admission.objects import WRITES, OfObjects
from admission.refusal import forbidden
from apiserver.authz import attributes as authz
from apiserver.authz.escalation import only_garbage_collection_changed
from apiserver.golang.strconv import go_quote
from apiserver.kinds.certificates.requests import subject_organizations
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import MASTERS, User

REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
BUNDLES = GroupResource("certificates.k8s.io", "clustertrustbundles")
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
            raise forbidden(attributes, why)


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
        if await _may(self._authorize, lookup, attributes.user, self.verb, signer):
            return
        why = f"user not permitted to {self.verb} requests with signerName {go_quote(signer)}"
        raise forbidden(attributes, why)

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


class ClusterTrustBundleAttest(OfObjects):
    """The signer of a bundle does not change, so that the new object may say who it is."""

    name = "ClusterTrustBundleAttest"
    resources = frozenset({BUNDLES})
    operations = WRITES

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        obj, old = attributes.object or {}, attributes.old
        signer = (obj.get("spec") or {}).get("signerName") or ""
        if not signer or (old is not None and only_garbage_collection_changed(obj, old)):
            return
        if not await _may(self._authorize, lookup, attributes.user, "attest", signer):
            why = f"user not permitted to attest for signerName {go_quote(signer)}"
            raise forbidden(attributes, why)


async def _may(authorize: Authorize, lookup: Lookup, user: User, verb: str, signer: str) -> bool:
    """For this signer, or for all of its domain."""
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        question = authz.Attributes(user, verb, REQUESTS.group, "*", "signers", name=name)
        if (await authorize(lookup, question)).allowed:
            return True
    return False
