from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from admission.attributes import Attributes, Lookup
from admission.plugins.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from apiserver.authz.attributes import Attributes as Question
from apiserver.authz.attributes import Decision
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

NO_LOOKUP: Any = None


def request(*organizations: str) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, o) for o in organizations])
    made = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(name)
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def csr(signer: str = "example.com/s", certificate: str = "", organization: str = "dev") -> Object:
    return {
        "spec": {"signerName": signer, "request": request(organization)},
        "status": {"certificate": certificate},
    }


def write(obj: Object, old: Object | None = None, subresource: str = "") -> Attributes:
    kind = GroupVersionKind("certificates.k8s.io", "v1", "CertificateSigningRequest")
    resource = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
    return Attributes(
        1, "UPDATE" if old else "CREATE", kind, resource, subresource, "", "c", obj, old, User("u")
    )


class Allows:
    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked: list[Question] = []

    async def __call__(self, lookup: Lookup, question: Question) -> Decision:
        self.asked.append(question)
        return Decision(question.name in self.names)


@pytest.mark.parametrize(
    ("signer", "organization", "refused"),
    [
        ("kubernetes.io/kube-apiserver-client", "system:masters", True),
        ("kubernetes.io/kube-apiserver-client", "dev", False),
        ("example.com/s", "system:masters", False),
    ],
)
async def test_the_client_signer_makes_no_masters(
    signer: str, organization: str, refused: bool
) -> None:
    plugin, attributes = (
        CertificateSubjectRestriction(),
        write(csr(signer, organization=organization)),
    )
    assert plugin.handles(attributes)
    if not refused:
        await plugin.validate(attributes, NO_LOOKUP)
        return
    with pytest.raises(
        Forbidden,
        match=(
            r"use of kubernetes\.io/kube-apiserver-client signer with system:masters "
            r"group is not allowed"
        ),
    ):
        await plugin.validate(attributes, NO_LOOKUP)


@pytest.mark.parametrize("allowed", ["example.com/s", "example.com/*"])
async def test_approval_takes_the_right_on_the_signer_or_on_its_domain(allowed: str) -> None:
    authorize = Allows(allowed)
    plugin = CertificateApproval(authorize)
    attributes = write(csr(), csr(), "approval")
    assert plugin.handles(attributes) and not plugin.handles(write(csr(), csr()))
    await plugin.validate(attributes, NO_LOOKUP)
    assert authorize.asked[0] == Question(
        User("u"), "approve", "certificates.k8s.io", "*", "signers", name="example.com/s"
    )


async def test_signing_is_checked_when_something_is_signed() -> None:
    plugin = CertificateSigning(Allows())
    await plugin.validate(write(csr(), csr(), "status"), NO_LOOKUP)
    with pytest.raises(
        Forbidden, match=r'user not permitted to sign requests with signerName "example\.com/s"'
    ):
        await plugin.validate(write(csr(certificate="x"), csr(), "status"), NO_LOOKUP)


def bundle(signer: str = "example.com/s", old: Object | None = None, **changed: Any) -> Attributes:
    kind = GroupVersionKind("certificates.k8s.io", "v1beta1", "ClusterTrustBundle")
    resource = GroupVersionResource("certificates.k8s.io", "v1beta1", "clustertrustbundles")
    spec = {"trustBundle": "pem", **({"signerName": signer} if signer else {})}
    obj = {"metadata": {"name": "b", **changed}, "spec": spec}
    operation = "UPDATE" if old else "CREATE"
    return Attributes(1, operation, kind, resource, "", "", "b", obj, old, User("u"))


STORED: Object = {
    "metadata": {"name": "b"},
    "spec": {"trustBundle": "pem", "signerName": "example.com/s"},
}


@pytest.mark.parametrize(
    ("attributes", "allowed", "asked", "refused"),
    [
        # a bundle of nobody's takes no right
        (bundle(""), [], [], False),
        # one of a signer's takes its own, or that of its domain
        (bundle(), [], ["example.com/s", "example.com/*"], True),
        (bundle(), ["example.com/s"], ["example.com/s"], False),
        (bundle(), ["example.com/*"], ["example.com/s", "example.com/*"], False),
        (bundle(), ["other.com/s"], ["example.com/s", "example.com/*"], True),
        # a change too, unless it is of what garbage collection changes
        (bundle(old=STORED, labels={"a": "b"}), [], ["example.com/s", "example.com/*"], True),
        (bundle(old=STORED), [], [], False),
        (bundle(old=STORED, finalizers=["example.com/f"]), [], [], False),
    ],
)
async def test_who_says_whom_a_signers_trust(
    attributes: Attributes, allowed: list[str], asked: list[str], refused: bool
) -> None:
    authorize = Allows(*allowed)
    plugin = ClusterTrustBundleAttest(authorize)
    assert plugin.handles(attributes)
    if refused:
        with pytest.raises(Forbidden) as e:
            await plugin.validate(attributes, NO_LOOKUP)
        assert e.value.message == (
            'clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to '
            'attest for signerName "example.com/s"'
        )
    else:
        await plugin.validate(attributes, NO_LOOKUP)
    assert [(q.verb, q.resource, q.name) for q in authorize.asked] == [
        ("attest", "signers", name) for name in asked
    ]
