from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from apiserver.authn import signers
from apiserver.authn.clientca import NAME, ClientAuthority
from apiserver.authn.signers import CLIENT, KUBELET_CLIENT, KUBELET_SERVING, problem
from tests.support.clientcertificates import key, name, request, unsigned

NOW = datetime(2026, 5, 1, 12, 0, 0, 7, tzinfo=UTC)
NODE = name("system:node:a", "system:nodes")
DNS, IP = x509.DNSName("a.example"), x509.IPAddress(ipaddress.ip_address("10.0.0.1"))
SIGNATURE, ENCIPHERMENT = "digital signature", "key encipherment"
FIVE, EIGHT = timedelta(minutes=5), timedelta(hours=8)


@pytest.mark.parametrize(
    ("signer", "asked", "usages", "expected"),
    [
        (CLIENT, request(name("u")), ["client auth"], ""),
        (CLIENT, request(name("u"), DNS), ["client auth", SIGNATURE, ENCIPHERMENT], ""),
        (CLIENT, request(name("u")), [SIGNATURE], "missing required usage for client certificate"),
        (
            CLIENT,
            request(name("u")),
            ["client auth", "server auth"],
            "invalid usage for client certificate: server auth",
        ),
        (KUBELET_CLIENT, request(NODE), [SIGNATURE, "client auth"], ""),
        (KUBELET_CLIENT, request(NODE), [SIGNATURE, ENCIPHERMENT, "client auth"], ""),
        (
            KUBELET_CLIENT,
            request(NODE),
            ["client auth"],
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (KUBELET_CLIENT, request(NODE, DNS), [], "DNS subjectAltNames are not allowed"),
        (KUBELET_CLIENT, request(NODE, IP), [], "IP subjectAltNames are not allowed"),
        (
            KUBELET_CLIENT,
            request(name("system:node:a", "system:nodes", "more")),
            [],
            "subject organization is not system:nodes",
        ),
        (
            KUBELET_CLIENT,
            request(name("a", "system:nodes")),
            [],
            "subject common name does not begin with system:node:",
        ),
        (KUBELET_SERVING, request(NODE, DNS, IP), [SIGNATURE, "server auth"], ""),
        (
            KUBELET_SERVING,
            request(NODE),
            [SIGNATURE, "server auth"],
            "DNS or IP subjectAltName is required",
        ),
        (
            KUBELET_SERVING,
            request(NODE, DNS, x509.RFC822Name("a@example.com")),
            [],
            "Email subjectAltNames are not allowed",
        ),
        (KUBELET_SERVING, request(NODE, DNS), [SIGNATURE], "usages did not match [digital"),
    ],
)
def test_what_each_signs(
    signer: str, asked: x509.CertificateSigningRequest, usages: list[str], expected: str
) -> None:
    found = problem(signer, asked, usages)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def made(seconds: int | None = None, *usages: str, uid: str = "") -> x509.Certificate:
    asked = request(name("u", "g1", "g2", uid=uid), DNS)
    builder = signers.certificate(asked, usages or ["client auth"], seconds, NOW)
    return ClientAuthority(b"secret").sign(7, builder)


def test_how_long_it_is_good() -> None:
    now = NOW.replace(microsecond=0)

    def ends(seconds: int | None) -> datetime:
        certificate = made(seconds)
        assert certificate.not_valid_before_utc == now - FIVE
        return certificate.not_valid_after_utc

    assert ends(None) == ends(10**9) == now + timedelta(days=365) - FIVE
    assert ends(3600) == now + timedelta(hours=1)
    assert ends(8 * 3600 - 1) == now + EIGHT - timedelta(seconds=1)
    assert ends(8 * 3600) == now + EIGHT - FIVE
    assert ends(1) == now + timedelta(minutes=10)


def test_what_is_in_it() -> None:
    certificate = made(3600, "client auth", SIGNATURE, uid="smuggled")
    assert certificate.issuer == NAME
    assert signers.common_name(certificate.subject) == "u"
    assert sorted(signers.organizations(certificate.subject)) == ["g1", "g2"]
    assert "smuggled" not in certificate.subject.rfc4514_string()
    held = certificate.extensions
    assert not held.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = held.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature and not usage.key_cert_sign
    extended = held.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    names = held.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [DNS]


def test_a_request_that_its_holder_has_not_signed_is_refused() -> None:
    whole = bytearray(request(name("u")).public_bytes(Encoding.DER))
    at = whole.index(b"u", 20)
    whole[at : at + 1] = b"v"
    altered = x509.load_der_x509_csr(bytes(whole))
    with pytest.raises(ValueError, match="signature"):
        signers.certificate(altered, ["client auth"], None, NOW)


def test_authorities_are_told_apart_by_their_keys() -> None:
    authority, other = ClientAuthority(b"secret"), ClientAuthority(b"another")
    mine = authority.sign(7, unsigned(name("u")))
    mine.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate(7)))
    assert authority.signer(mine) == 7
    assert other.signer(mine) is None, "another installation's"
    assert authority.is_certificate(7, authority.certificate(7).decode())
    assert not authority.is_certificate(8, authority.certificate(7).decode())
    assert not authority.is_certificate(7, "nonsense")


def test_who_names_a_tenant_has_not_its_signature() -> None:
    authority = ClientAuthority(b"secret")
    held = x509.load_pem_x509_certificate(authority.certificate(8))
    identifier = held.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    forged = (
        unsigned(name("u"))
        .issuer_name(NAME)
        .add_extension(x509.AuthorityKeyIdentifier(identifier.digest, None, None), critical=False)
    )
    assert authority.signer(forged.sign(key("mallory"), hashes.SHA256())) is None


def test_alternative_names_that_cannot_be_read_are_no_request() -> None:
    """The library has another error for a name of bits than ValueError."""
    odd = x509.DirectoryName(name("odd1"))
    der = request(name("system:node:n", "system:nodes"), odd).public_bytes(Encoding.DER)
    written = b"\x0c\x04odd1"
    assert der.count(written) == 1
    altered = x509.load_der_x509_csr(der.replace(written, b"\x03\x04\x00dd1"))
    with pytest.raises(ValueError, match="BitString"):
        signers.is_kubelet_client(altered, ["client auth"])
