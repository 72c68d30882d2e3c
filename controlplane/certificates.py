"""The certificates of the installation: what it serves with, and which authorities of clients it
trusts.

A CA and a serving certificate are made on first start. A start makes the certificate anew when it
ends within `_RENEW` or lacks a name, and so does the supervisor while it runs (`renew`). Operators
with a certificate of their own set POLYPLANE_TLS_CERT_FILE and POLYPLANE_TLS_KEY_FILE, and neither
is made.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_bytes

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.clientcertificates import ClientCertificates
from controlplane import environment
from controlplane.datadir import DataDir
from controlplane.errors import OperatorError
from controlplane.proxies import front_proxies, proxy_cas

_CA_LIFE = timedelta(days=3650)
_LIFE = timedelta(days=365)
_RENEW = timedelta(days=60)  # before expiry
_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ServingFiles:
    """ca: the CA's certificate in PEM, empty when the operator brought a certificate that the
    system trusts."""

    certificate: Path
    key: Path
    ca: bytes


def ensure(data: DataDir) -> ServingFiles:
    """Makes or renews what is missing, and says where it lies. Raises OperatorError for what the
    operator has brought and workers could not use."""
    client_cas()
    proxy_cas()
    own_certificate, own_key = environment.text("TLS_CERT_FILE"), environment.text("TLS_KEY_FILE")
    if own_certificate or own_key:
        return _brought(own_certificate, own_key)
    if not (data.file("ca.crt").exists() and data.file("ca.key").exists()):
        _make_ca(data)
    renew(data)
    return _own(data)


def renew(data: DataDir) -> bool:
    """Makes the CA's certificate anew where it has to be; whether it was. Workers follow the file
    (`controlplane.serving.certificatefiles`)."""
    if environment.text("TLS_CERT_FILE") or _good(_own(data)):
        return False
    _make_serving(data)
    return True


def _own(data: DataDir) -> ServingFiles:
    return ServingFiles(
        data.file("tls.crt"), data.file("tls.key"), data.file("ca.crt").read_bytes()
    )


def _brought(certificate: str, key: str) -> ServingFiles:
    for name, path in (("CERT", certificate), ("KEY", key)):
        if not Path(path).is_file():
            raise OperatorError(
                f"POLYPLANE_TLS_{name}_FILE={path!r} is no file.",
                "set both POLYPLANE_TLS_CERT_FILE and POLYPLANE_TLS_KEY_FILE, or none.",
            )
    ca = environment.text("TLS_CA_FILE")
    return ServingFiles(Path(certificate), Path(key), Path(ca).read_bytes() if ca else b"")


def ca_bundle() -> str:
    """What verifies the certificate of a server that runs, in PEM; "" where nothing here says."""
    if environment.text("TLS_CERT_FILE"):
        brought = environment.text("TLS_CA_FILE")
        return Path(brought).read_text() if brought else ""
    path = DataDir.from_environment().file("ca.crt")
    return path.read_text() if path.is_file() else ""


def client_cas() -> str:
    """Who signs the client certificates that are good in every tenant, in PEM; "" where nobody
    does. Raises OperatorError."""
    return environment.certificates("CLIENT_CA_FILE")


def client_certificates(secret_key: str) -> ClientCertificates:
    """Those that every process of the installation accepts. Raises OperatorError."""
    cas = client_cas().encode()
    everywhere = x509.load_pem_x509_certificates(cas) if cas else []
    authority = ClientAuthority(secret_key.encode())
    return ClientCertificates(authority, everywhere, front_proxies())


def client_authorities() -> list[bytes]:
    """Whose client certificates are asked for, in DER: those of `client_cas`, those of proxies,
    and one that stands for the authorities of all tenants, which share their name."""
    own = ClientAuthority(token_bytes(32)).certificate(0).decode()
    certificates = x509.load_pem_x509_certificates(
        (own + client_cas() + "\n" + proxy_cas()).encode()
    )
    return [c.public_bytes(serialization.Encoding.DER) for c in certificates]


def wanted_names() -> tuple[set[str], set[str]]:
    """(DNS names, IP addresses) that the certificate must carry: the local ones, the host's name,
    POLYPLANE_TLS_NAMES, POLYPLANE_ADVERTISE_ADDRESS, POLYPLANE_BIND where it is one address, and
    POLYPLANE_TENANT_DOMAIN with all hosts directly below it."""
    names, addresses = {"localhost", socket.gethostname()}, {"127.0.0.1", "::1"}
    if domain := environment.domain("TENANT_DOMAIN"):
        names |= {domain, f"*.{domain}"}
    bind = environment.text("BIND")
    for extra in [
        *environment.words("TLS_NAMES"),
        *environment.words("ADVERTISE_ADDRESS"),
        *([bind] if bind not in ("", "0.0.0.0", "::") else []),  # noqa: S104
    ]:
        try:
            addresses.add(str(ipaddress.ip_address(extra)))
        except ValueError:
            names.add(extra)
    return {n for n in names if n and len(n) <= 253}, addresses


def _good(files: ServingFiles) -> bool:
    """Whether the certificate exists, is this CA's, lasts long enough and carries every name."""
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(files.ca))
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, x509.ExtensionNotFound):
        return False
    except Exception:  # InvalidSignature has no common base with the others
        return False
    names, addresses = wanted_names()
    has_names = names <= set(held.get_values_for_type(x509.DNSName))
    has_addresses = addresses <= {str(a) for a in held.get_values_for_type(x509.IPAddress)}
    return (
        files.key.exists()
        and has_names
        and has_addresses
        and certificate.not_valid_after_utc - datetime.now(UTC) > _RENEW
    )


def _make_ca(data: DataDir) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "polyplane-ca")])
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    certificate = (
        _builder(name, name, key.public_key(), _CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    data.write_secret("ca.key", _pem(key))
    data.write_secret("ca.crt", certificate.public_bytes(serialization.Encoding.PEM))


def _make_serving(data: DataDir) -> None:
    ca = x509.load_pem_x509_certificate(data.file("ca.crt").read_bytes())
    ca_key = serialization.load_pem_private_key(data.file("ca.key").read_bytes(), None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    names, addresses = wanted_names()
    alternatives = [x509.DNSName(n) for n in sorted(names)] + [
        x509.IPAddress(ipaddress.ip_address(a)) for a in sorted(addresses)
    ]
    certificate = (
        _builder(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "polyplane")]),
            ca.subject,
            key.public_key(),
            _LIFE,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(True, False, False, False, False, False, False, False, False),
            critical=True,
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
    data.write_secret("tls.key", _pem(key))
    data.write_secret("tls.crt", certificate.public_bytes(serialization.Encoding.PEM))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + life)
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
