"""The PEM parts of a CertificateSigningRequest: its request and its certificate (kubernetes
``pkg/apis/certificates``)."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime

from cryptography import x509

from apiserver.authn.unreadable import UNREADABLE
from apiserver.golang import pem
from apiserver.golang.strconv import go_quote


def request_problem(encoded: str) -> str:
    """``encoded``: base64 of spec.request. What is wrong with it, or ""."""
    try:
        parsed_request(encoded)
    except ValueError as e:
        return str(e)
    return ""


def parsed_request(encoded: str) -> x509.CertificateSigningRequest:
    """``encoded``: base64 of spec.request. Its subject can be read. Raises ValueError."""
    block = next(pem.blocks(_bytes(encoded)), None)
    if block is None or block.type != b"CERTIFICATE REQUEST":
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_der_x509_csr(block.data)
        _ = request.subject
    except UNREADABLE:
        raise ValueError("asn1: structure error: malformed certificate request") from None
    return request


def expiry(encoded: str) -> datetime | None:
    """``encoded``: base64 of status.certificate. When its first certificate ends; None where there
    is none that can be read."""
    block = next(pem.blocks(_bytes(encoded)), None)
    try:
        return x509.load_der_x509_certificate(block.data).not_valid_after_utc if block else None
    except UNREADABLE:
        return None


def subject_organizations(encoded: str) -> list[str]:
    """The groups that a client certificate for this request would have; [] when it cannot be
    read."""
    try:
        subject = parsed_request(encoded).subject
    except ValueError:
        return []
    return [str(a.value) for a in subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)]


def common_name(encoded: str) -> str:
    """The user whom a client certificate for this request would be of. Raises ValueError."""
    names = parsed_request(encoded).subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def certificate_problem(encoded: str) -> str:
    """``encoded``: base64 of status.certificate: one or more CERTIFICATE blocks without headers;
    anything may stand between them."""
    blocks = list(pem.blocks(_bytes(encoded)))
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    for block in blocks:
        if block.type != b"CERTIFICATE":
            return (
                f"only CERTIFICATE PEM blocks are allowed, found "
                f"{go_quote(block.type.decode(errors='replace'))}"
            )
        if block.has_headers:
            return "no PEM block headers are permitted"
        try:
            x509.load_der_x509_certificate(block.data)
        except UNREADABLE:
            return "x509: malformed certificate"
    return ""


def _bytes(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return b""
