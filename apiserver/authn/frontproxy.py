"""As whom this server comes to the API servers behind it (Kubernetes' authenticating proxy): a
client certificate, by an authority that each tenant has for itself.

A backend believes X-Remote-User of whoever has a certificate of the authority that the ConfigMap
``kube-system/extension-apiserver-authentication`` of its tenant names. Were it one authority for
all tenants, somebody's APIService could point to the backend of a neighbour, whose administrator he
would pass for. Keys are derived (HKDF, RFC 5869) from the installation's secret and the tenant's
number, so that nothing is stored and all machines have the same authority.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.authn.derivedkeys import derived_key

NAME = "front-proxy-client"
"""Whom the certificate is for; the one name that backends are told to accept."""
LIFE = timedelta(days=7)
_SKEW = timedelta(hours=1)
_BEGIN, _END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)
"""Of the authority: it is made anew in every process and has to look alike in all."""


class Identity(NamedTuple):
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


class FrontProxy:
    """``secret``: of the installation."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def authority(self, tenant: int) -> bytes:
        """The certificate of the tenant's authority, in PEM; the signature differs from call to
        call, the key does not."""
        return self._authority(tenant).public_bytes(serialization.Encoding.PEM)

    def is_authority(self, tenant: int, pem: str) -> bool:
        """Whether the certificate, in PEM, has the key of the tenant's authority."""
        try:
            certificate = x509.load_pem_x509_certificate(pem.encode())
        except ValueError:
            return False
        return certificate.public_key() == self._key(tenant).public_key()

    def identity(self, tenant: int, now: datetime | None = None) -> Identity:
        """A new client certificate, good for `LIFE`."""
        now = now or datetime.now(UTC)
        authority, key = self._authority(tenant), ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(NAME, authority.subject, key.public_key())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + LIFE)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(self._key(tenant), hashes.SHA256())
        )
        return Identity(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))

    def _authority(self, tenant: int) -> x509.Certificate:
        key = self._key(tenant)
        name = _name(f"polyplane-front-proxy-{tenant}")
        usage = x509.KeyUsage(True, False, False, False, False, True, False, False, False)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        serial = int.from_bytes(hashlib.sha256(identifier.digest).digest()[:16])
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(serial)
            .not_valid_before(_BEGIN)
            .not_valid_after(_END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(identifier, critical=False)
            .sign(key, hashes.SHA256())
        )

    def _key(self, tenant: int) -> ec.EllipticCurvePrivateKey:
        return derived_key(self._secret, b"polyplane front proxy", tenant)


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(_name(name)).issuer_name(issuer)
    return builder.public_key(key).serial_number(x509.random_serial_number())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
