from __future__ import annotations

import base64
import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from apiserver.fielderrors import FieldPath
from apiserver.kinds.base import WriteContext
from apiserver.kinds.certificates.certificatesigningrequest import CertificateSigningRequest
from apiserver.kinds.certificates.requests import (
    certificate_problem,
    common_name,
    expiry,
    request_problem,
    subject_organizations,
)
from apiserver.kinds.certificates.signers import signer_name_errors
from apiserver.meta.objects import Object
from tests.support.tlssecrets import certificate

KIND = CertificateSigningRequest()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = WriteContext("v1", NOW, user="u", groups=("g",), user_extra={"team": ("blue",)})


def encoded(*pem: bytes) -> str:
    return base64.b64encode(b"".join(pem)).decode()


def made_request() -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "system:masters")])
    key = ec.generate_private_key(ec.SECP256R1())
    signed = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return encoded(signed.public_bytes(serialization.Encoding.PEM))


REQUEST = made_request()


def csr(**spec: Any) -> Object:
    base = {"request": REQUEST, "signerName": "example.com/s", "usages": ["client auth"]}
    return {"metadata": {"name": "c"}, "spec": {**base, **spec}}


def stored(*conditions: str) -> Object:
    obj = csr()
    obj["status"] = {
        "conditions": [
            {"type": t, "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}
            for t in conditions
        ]
    }
    return obj


def test_the_requester_is_whoever_asks() -> None:
    obj = csr(username="forged", uid="forged", groups=["forged"])
    KIND.prepare_create(obj, CONTEXT)
    spec = obj["spec"]
    assert (spec["username"], spec["groups"], spec["extra"]) == (
        "u",
        ["g"],
        {"team": ["blue"]},
    ) and "uid" not in spec
    assert KIND.validate(obj, CONTEXT) == []


@pytest.mark.parametrize(("request_", "shown"), [(None, "null"), ("", '""')])
def test_a_request_that_is_empty_is_quoted_as_it_was_sent(request_: Any, shown: str) -> None:
    (error,) = KIND.validate(csr(request=request_), CONTEXT)
    why = "PEM block type must be CERTIFICATE REQUEST"
    assert str(error) == f"spec.request: Invalid value: {shown}: {why}"


def test_approval_changes_conditions_and_nothing_else() -> None:
    old = stored()
    new = copy.deepcopy(old)
    new["spec"]["signerName"] = "example.com/other"
    new["status"] = {"conditions": [{"type": "Approved", "status": "True"}], "certificate": "x"}
    KIND.prepare_subresource_update("approval", new, old, CONTEXT)
    time = "2026-01-01T00:00:00Z"
    approved = {
        "type": "Approved",
        "status": "True",
        "lastTransitionTime": time,
        "lastUpdateTime": time,
    }
    assert new["spec"] == old["spec"] and new["status"] == {"conditions": [approved]}
    assert KIND.validate_subresource_update("approval", new, old, CONTEXT) == []


def test_status_cannot_approve_and_approval_cannot_be_undone() -> None:
    old = stored("Approved")
    new = copy.deepcopy(old)
    new["status"]["conditions"] = [
        {"type": "Denied", "status": "True"},
        {"type": "Failed", "status": "True"},
    ]
    KIND.prepare_status_update(new, old, CONTEXT)
    assert [str(e) for e in KIND.validate_status_update(new, old, CONTEXT)] == [
        f'status.conditions: Forbidden: updates may not {what} a condition of type "{kind}"'
        for what, kind in (("remove", "Approved"), ("add", "Denied"))
    ]
    undone = {**old, "status": {}}
    (error,) = KIND.validate_subresource_update("approval", undone, old, CONTEXT)
    assert (
        str(error)
        == 'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    )


def test_status_sends_an_approval_back_and_leaves_it_as_it_is() -> None:
    old = stored("Approved", "Other")
    new = copy.deepcopy(old)
    new["status"]["conditions"] = [
        {"type": "Failed", "status": "True"},
        {"type": "Approved", "status": "False", "reason": "forged"},
        {"type": "Other", "status": "True"},
    ]
    KIND.prepare_status_update(new, old, CONTEXT)
    failed, approved, other = new["status"]["conditions"]
    assert failed["lastTransitionTime"] == failed["lastUpdateTime"] == "2026-01-01T00:00:00Z"
    assert (approved["status"], "reason" in approved) == ("True", False)
    assert other["lastTransitionTime"] == "2025-01-01T00:00:00Z"
    assert KIND.validate_status_update(new, old, CONTEXT) == []


@pytest.mark.parametrize(
    ("pem", "problem"),
    [
        (b"not pem", "must contain at least one CERTIFICATE PEM block"),
        (
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"',
        ),
        (
            b"-----BEGIN CERTIFICATE-----\nA: b\n\nAAAA\n-----END CERTIFICATE-----\n",
            "no PEM block headers are permitted",
        ),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "x509: malformed certificate",
        ),
    ],
)
def test_certificates_that_are_none(pem: bytes, problem: str) -> None:
    assert certificate_problem(encoded(pem)) == problem


def test_requests() -> None:
    assert request_problem(REQUEST) == "" and subject_organizations(REQUEST) == ["system:masters"]
    assert request_problem(encoded(b"not pem")) == "PEM block type must be CERTIFICATE REQUEST"


@pytest.mark.parametrize(
    ("name", "details"),
    [
        ("example.com/a.b", []),
        (
            "nodomain",
            ["must be a fully qualified domain and path of the form 'example.com/signer-name'"],
        ),
        ("a/b", ["should be a domain with at least two segments separated by dots"]),
        (f"abc.io/{'a' * 253}.{'a' * 253}", []),
        (f"abc.io/{'a' * 253}.{'a' * 253}.{'a' * 56}", []),
        (f"abc.io/{'a' * 253}.{'a' * 253}.{'a' * 57}", ["may not be more than 571 bytes"]),
    ],
)
def test_signer_names(name: str, details: list[str]) -> None:
    assert [e.detail for e in signer_name_errors(name, FieldPath("p"))] == details


def test_columns_and_fields() -> None:
    obj = stored("Approved", "Failed")
    obj["status"]["certificate"] = "x"
    obj["spec"] |= {"username": "u", "expirationSeconds": 86400}
    obj["metadata"]["creationTimestamp"] = "2025-12-31T23:00:00Z"
    assert KIND.cells(obj, "v1", NOW) == [
        "c",
        "60m",
        "example.com/s",
        "u",
        "24h",
        "Approved,Failed,Issued",
    ]
    assert KIND.fields(obj) == {"spec.signerName": "example.com/s"}


MALFORMED = "asn1: structure error: malformed certificate request"


@pytest.mark.parametrize(
    "instead",
    [b"\x03\x0e\x00ystem:masters", b"\x05\x0esystem:masters", b"\x13\x0e\xff\xfe" + 12 * b"a"],
)
def test_a_subject_that_cannot_be_read_is_malformed(instead: bytes) -> None:
    der = x509.load_pem_x509_csr(base64.b64decode(REQUEST)).public_bytes(serialization.Encoding.DER)
    written = b"\x0c\x0esystem:masters"
    assert der.count(written) == 1
    body = base64.encodebytes(der.replace(written, instead))
    odd = encoded(
        b"-----BEGIN CERTIFICATE REQUEST-----\n", body, b"-----END CERTIFICATE REQUEST-----\n"
    )
    assert request_problem(odd) == MALFORMED
    assert subject_organizations(odd) == []
    with pytest.raises(ValueError, match=MALFORMED):
        common_name(odd)


def test_all_conditions_are_looked_at() -> None:
    kinds = ("Approved", "Denied", "")
    conditions = [{"type": kind, "status": "True"} for kind in kinds]
    obj = {"metadata": {}, "spec": {}, "status": {"conditions": conditions}}
    found = CertificateSigningRequest().validate_subresource_update("approval", obj, obj, CONTEXT)
    assert [e.path for e in found] == ["status.conditions", "status.conditions[2].type"]


def test_a_certificate_ends_when_it_says() -> None:
    ends = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert expiry(encoded(b"text\n", certificate(ends))) == ends
    for unreadable in ("", "!", encoded(b"not pem"), REQUEST):
        assert expiry(unreadable) is None
