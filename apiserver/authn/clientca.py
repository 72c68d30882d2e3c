"""The authority of each tenant that signs client certificates, and the serving certificates of its
kubelets (kube-controller-manager's ``--cluster-signing-cert-file``, kube-apiserver's
``--client-ca-file``).

All authorities have the same name, because a server tells everybody who opens TLS the names of the
authorities that it takes: thousands would be too many, and would say who is there. They differ in
their keys (`apiserver.authn.derivedkeys`), and a certificate says by its authority key identifier
whose it wants to be, which proves nothing: the signature does.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiserver.authn.derivedkeys import derived_key

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "polyplane-client-ca")])
BEGIN, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)
"""Of the authority: it is made anew in every process and has to look alike in all."""
_KEYS = 1024
_NUMBER = 8
"""Bytes of the tenant's number, with which a key identifier begins."""


class ClientAuthority:
    """``secret``: of the installation."""

    def __init__(self, secret: bytes) -> None:
        self._key = lru_cache(_KEYS)(
            lambda tenant: derived_key(secret, b"polyplane client authority", tenant)
        )

    def certificate(self, tenant: int) -> bytes:
        """Of the tenant's authority, in PEM; the signature differs from call to call, the key does
        not."""
        usage = x509.KeyUsage(True, False, True, False, False, True, False, False, False)
        builder = (
            x509.CertificateBuilder()
            .subject_name(NAME)
            .issuer_name(NAME)
            .public_key(self._key(tenant).public_key())
            .serial_number(int.from_bytes(self._identifier(tenant)[_NUMBER:]))
            .not_valid_before(BEGIN)
            .not_valid_after(END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier(self._identifier(tenant)), critical=False)
        )
        certificate = builder.sign(self._key(tenant), hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM)

    def is_certificate(self, tenant: int, pem: str) -> bool:
        """Whether the certificate, in PEM, has the key of the tenant's authority."""
        try:
            certificate = x509.load_pem_x509_certificate(pem.encode())
            return certificate.public_key() == self._key(tenant).public_key()
        except ValueError:
            return False

    def sign(self, tenant: int, builder: x509.CertificateBuilder) -> x509.Certificate:
        """``builder``: a certificate that lacks its issuer, and says what its holder may do."""
        identifier = x509.AuthorityKeyIdentifier(self._identifier(tenant), None, None)
        return (
            builder.issuer_name(NAME)
            .add_extension(identifier, critical=False)
            .sign(self._key(tenant), hashes.SHA256())
        )

    def signer(self, certificate: x509.Certificate) -> int | None:
        """The number of the tenant whose authority has signed the certificate; None where that is
        none of ours."""
        if certificate.issuer != NAME:
            return None
        try:
            held = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
        except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
            return None
        identifier = held.value.key_identifier or b""
        tenant = int.from_bytes(identifier[:_NUMBER])
        if len(identifier) < _NUMBER or not tenant:
            return None
        try:
            self._key(tenant).public_key().verify(
                certificate.signature,
                certificate.tbs_certificate_bytes,
                ec.ECDSA(hashes.SHA256()),
            )
        except InvalidSignature:
            return None
        return tenant

    def _identifier(self, tenant: int) -> bytes:
        """Of the tenant's key (RFC 5280, 4.2.1.2: any number that is the key's own will do)."""
        numbers = (
            self._key(tenant)
            .public_key()
            .public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        )
        return tenant.to_bytes(_NUMBER) + hashlib.sha256(numbers).digest()[:12]
