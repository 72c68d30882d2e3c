"""The PEM parts of a CertificateSigningRequest: its request and its certificate (kubernetes
``pkg/apis/certificates``)."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from apiserver.golang.strconv import go_quote

_BLOCK = re.compile(
    rb"-----BEGIN ([^-\n]*)-----[ \t]*\r?\n(.*?)-----END \1-----[ \t]*(?:\r?\n|$)", re.DOTALL
)


def request_problem(encoded: str) -> str:
    """``encoded``: base64 of spec.request. What is wrong with it, or ""."""
    match = _BLOCK.search(_bytes(encoded))
    if match is None or match[1] != b"CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        x509.load_pem_x509_csr(match[0])
    except (ValueError, UnsupportedAlgorithm):
        return "asn1: structure error: malformed certificate request"
    return ""


def parsed_request(encoded: str) -> x509.CertificateSigningRequest:
    """``encoded``: base64 of spec.request. Raises ValueError."""
    match = _BLOCK.search(_bytes(encoded))
    if match is None or match[1] != b"CERTIFICATE REQUEST":
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    try:
        return x509.load_pem_x509_csr(match[0])
    except UnsupportedAlgorithm as e:
        raise ValueError(str(e)) from None


def expiry(encoded: str) -> datetime | None:
    """``encoded``: base64 of status.certificate. When its first certificate ends; None where there
    is none that can be read."""
    match = _BLOCK.search(_bytes(encoded))
    try:
        return x509.load_pem_x509_certificate(match[0]).not_valid_after_utc if match else None
    except (ValueError, UnsupportedAlgorithm):
        return None


def subject_organizations(encoded: str) -> list[str]:
    """The groups that a client certificate for this request would have; [] when it cannot be
    read."""
    request = _request(encoded)
    attributes = (
        request.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME) if request else []
    )
    return [str(a.value) for a in attributes]


def common_name(encoded: str) -> str:
    """The user whom a client certificate for this request would be of. Raises ValueError."""
    if problem := request_problem(encoded):
        raise ValueError(problem)
    request = _request(encoded)
    found = request.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME) if request else []
    return str(found[-1].value) if found else ""


def _request(encoded: str) -> x509.CertificateSigningRequest | None:
    match = _BLOCK.search(_bytes(encoded))
    try:
        return x509.load_pem_x509_csr(match[0]) if match else None
    except (ValueError, UnsupportedAlgorithm):
        return None


def certificate_problem(encoded: str) -> str:
    """``encoded``: base64 of status.certificate: one or more CERTIFICATE blocks without headers;
    anything may stand between them."""
    blocks = list(_BLOCK.finditer(_bytes(encoded)))
    if not blocks:
        return "must contain one or more CERTIFICATE PEM blocks"
    for block in blocks:
        if block[1] != b"CERTIFICATE":
            return (
                f"only CERTIFICATE PEM blocks are allowed, found "
                f"{go_quote(block[1].decode(errors='replace'))}"
            )
        if b":" in block[2]:
            return "no PEM block headers are permitted"
        try:
            x509.load_pem_x509_certificate(block[0])
        except (ValueError, UnsupportedAlgorithm):
            return "x509: malformed certificate"
    return ""


def _bytes(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return b""
