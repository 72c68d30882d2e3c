"""Keys of tenants, derived (HKDF, RFC 5869) from the installation's secret: nothing is stored, and
all machines that share the secret have the same keys."""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Of the group of P-256 (FIPS 186-4, D.1.2.3)."""


def derived_key(
    secret: bytes, purpose: bytes, tenant: int, salt: bytes = b""
) -> ec.EllipticCurvePrivateKey:
    """The P-256 key of the tenant for one purpose; keys of different purposes, or salts, say
    nothing of each other."""
    info = b"%b\0%d" % (purpose, tenant)
    material = HKDF(hashes.SHA256(), 48, salt=salt or None, info=info).derive(secret)
    return ec.derive_private_key(int.from_bytes(material) % (_ORDER - 1) + 1, ec.SECP256R1())


def derived_secret(secret: bytes, purpose: bytes) -> bytes:
    """32 bytes for one purpose."""
    return HKDF(hashes.SHA256(), 32, salt=None, info=purpose).derive(secret)
