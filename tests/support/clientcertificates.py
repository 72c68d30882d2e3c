"""Keys, requests and certificates of clients."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from math import gcd
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.meta.objects import Object

PEM, DER = serialization.Encoding.PEM, serialization.Encoding.DER


@cache
def key(which: str = "") -> ec.EllipticCurvePrivateKey:
    """The same for the same word."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(private: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return private.private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def rsa_keys() -> tuple[rsa.RSAPrivateKey, rsa.RSAPrivateKey]:
    """A usual one, and one of the same modulus whose public exponent is larger than Go's."""
    usual = rsa.generate_private_key(65537, 2048).private_numbers()
    p, q = usual.p, usual.q
    order = (p - 1) * (q - 1)
    exponent = next(e for e in count(2**31 + 1, 2) if gcd(e, order) == 1)
    d = pow(exponent, -1, order)
    public = rsa.RSAPublicNumbers(exponent, p * q)
    slow = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), usual.iqmp, public)
    return usual.private_key(), slow.private_key()


def name(common: str, *organizations: str, uid: str = "") -> x509.Name:
    held = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in organizations]
    held.append(x509.NameAttribute(NameOID.COMMON_NAME, common))
    if uid:
        oid = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
        held.append(x509.NameAttribute(oid, uid))
    return x509.Name(held)


def request(subject: x509.Name, *alternatives: x509.GeneralName) -> x509.CertificateSigningRequest:
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(key(), hashes.SHA256())


def csr(named: str, subject: x509.Name, signer: str, *usages: str, **spec: Any) -> Object:
    """A CertificateSigningRequest."""
    encoded = base64.b64encode(request(subject).public_bytes(PEM)).decode()
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": named},
        "spec": {"request": encoded, "signerName": signer, "usages": list(usages), **spec},
    }


def unsigned(
    subject: x509.Name,
    *,
    begins: timedelta = timedelta(minutes=-5),
    lasts: timedelta = timedelta(hours=1),
    purpose: x509.ObjectIdentifier | None = ExtendedKeyUsageOID.CLIENT_AUTH,
    of: CertificatePublicKeyTypes | None = None,
    is_authority: bool = False,
) -> x509.CertificateBuilder:
    """A certificate without an issuer. purpose: None for one that says nothing of it; of: the key
    that it is for."""
    begin = datetime.now(UTC) + begins
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(of or key().public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + lasts)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if purpose is None:
        return builder
    return builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)


class Authority:
    """An authority that somebody else has. days: how long it is still good."""

    def __init__(
        self,
        common: str,
        above: Authority | None = None,
        *,
        is_authority: bool = True,
        days: int = 9,
    ) -> None:
        self.name, self.key = name(common), key(f"authority {common}")
        begin, end = (datetime.now(UTC) + timedelta(days=d) for d in (min(-1, days - 1), days))
        usage = x509.KeyUsage(True, False, False, False, False, is_authority, False, False, False)
        public = self.key.public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        )
        self.certificate = (above or self).sign(builder)

    def sign(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            builder.issuer_name(self.name)
            .add_extension(identifier, critical=False)
            .sign(self.key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(PEM).decode()
