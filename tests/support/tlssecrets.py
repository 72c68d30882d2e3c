"""Secrets for TLS, with certificates that end when a test says."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.clientcertificates import key, name

TLS = "kubernetes.io/tls"


def certificate(ends: datetime) -> bytes:
    """PEM."""
    subject = name("inner-name")
    public, serial = key().public_key(), x509.random_serial_number()
    made = x509.CertificateBuilder(subject, subject, public, serial)
    made = made.not_valid_before(ends - timedelta(days=90)).not_valid_after(ends)
    return made.sign(key(), SHA256()).public_bytes(Encoding.PEM)


def secret(named: str, content: bytes, kind: str = TLS) -> dict[str, Any]:
    data = {"tls.crt": base64.b64encode(content).decode(), "tls.key": ""}
    return {"metadata": {"name": named, "uid": "u"}, "type": kind, "data": data}
