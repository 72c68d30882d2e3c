"""The client certificate towards tenants' own API servers: by an authority of the tenant's own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from apiserver.authn.frontproxy import LIFE, NAME, FrontProxy

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FRONT = FrontProxy(b"secret")


def load(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def test_a_certificate_is_its_tenants_authoritys_and_no_others() -> None:
    certificate = load(FRONT.identity(1, NOW).certificate)
    certificate.verify_directly_issued_by(load(FRONT.authority(1)))
    for other in (FRONT.authority(2), FrontProxy(b"another").authority(1)):
        with pytest.raises((InvalidSignature, ValueError)):
            certificate.verify_directly_issued_by(load(other))
    (name,) = certificate.subject
    assert name.value == NAME
    assert certificate.not_valid_after_utc == NOW + LIFE


def test_every_machine_has_the_same_authority() -> None:
    again = FrontProxy(b"secret")
    load(FRONT.identity(1, NOW).certificate).verify_directly_issued_by(load(again.authority(1)))
    assert load(FRONT.authority(1)).serial_number == load(again.authority(1)).serial_number


def test_an_authority_is_told_by_its_key() -> None:
    assert FRONT.is_authority(1, FRONT.authority(1).decode())
    assert not FRONT.is_authority(2, FRONT.authority(1).decode())
    assert not FRONT.is_authority(1, "no certificate")
