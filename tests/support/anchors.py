"""Certificates for trust bundles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def anchor(name: str = "ca", *, authority: bool | None = True) -> str:
    """PEM. authority: what its basic constraints say; None: it has none."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(_DAY)
        .not_valid_after(_DAY + timedelta(days=1))
    )
    if authority is not None:
        constraints = x509.BasicConstraints(ca=authority, path_length=None)
        builder = builder.add_extension(constraints, critical=True)
    signed = builder.sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()
