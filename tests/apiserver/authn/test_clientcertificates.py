"""Whose a client certificate is: of one tenant, of all, or nobody's."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.authn import clientcertificates, counts
from apiserver.authn.accountclaims import Refused
from apiserver.authn.clientca import NAME, ClientAuthority
from apiserver.authn.clientcertificates import ClientCertificates, Presented
from tests.support.clientcertificates import Authority, key, name, rsa_keys, unsigned

TENANTS = ClientAuthority(b"secret")
ROOT, STRANGER = Authority("root"), Authority("stranger")
MIDDLE = Authority("middle", ROOT)
NO_AUTHORITY = Authority("clerk", ROOT, is_authority=False)
UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
HOUR = timedelta(hours=1)


def certificates() -> ClientCertificates:
    return ClientCertificates(TENANTS, [ROOT.certificate])


def presented(*chain: x509.Certificate) -> Presented:
    return Presented([c.public_bytes(Encoding.DER) for c in chain])


def own(common: str = "u", *groups: str, uid: str = "", tenant: int = 7) -> Presented:
    return presented(TENANTS.sign(tenant, unsigned(name(common, *groups, uid=uid))))


def refusal(some: Presented, tenant: int = 7, known: ClientCertificates | None = None) -> str:
    with pytest.raises(Refused) as caught:
        (known or certificates()).user(some, tenant)
    return str(caught.value)


def test_a_tenants_certificate_names_its_user() -> None:
    some = own("alice", "dev", "ops", uid="u-1")
    user = certificates().user(some, 7)
    assert user is not None
    assert (user.name, user.uid) == ("alice", "u-1")
    assert user.groups == ("dev", "ops", "system:authenticated")
    assert not user.everywhere
    digest = x509.load_der_x509_certificate(some.chain[0]).fingerprint(hashes.SHA256()).hex()
    credential = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential == (f"X509SHA256={digest}",)
    assert certificates().tenant(some) == 7


def test_how_long_it_is_still_good_is_counted() -> None:
    before, some, known = list(counts.EXPIRATION[()]), own(), certificates()
    known.user(some, 7)
    left = x509.load_der_x509_certificate(some.chain[0]).not_valid_after_utc - datetime.now(UTC)
    with pytest.raises(Refused):
        known.user(some, 7, datetime.now(UTC) + left + timedelta(seconds=1))
    added = [after - b for after, b in zip(counts.EXPIRATION[()], before, strict=True)]
    assert added[0] == 1, "it had ended"
    assert added[bisect_left(counts.REMAINING, left.total_seconds())] == 1
    assert sum(added[:-1]) == 2


def test_it_is_good_in_no_other_tenant() -> None:
    assert "another tenant" in refusal(own(tenant=7), 8)
    assert "another tenant" in refusal(own(tenant=7), 0)


def test_nor_elsewhere() -> None:
    elsewhere = ClientCertificates(ClientAuthority(b"other"))
    assert "unknown authority" in refusal(own(), known=elsewhere)
    assert refusal(presented(STRANGER.sign(unsigned(name("u")))))


def test_a_certificate_without_a_common_name_is_nobodys() -> None:
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters")])
    some = presented(TENANTS.sign(7, unsigned(subject)))
    assert certificates().user(some, 7) is None


def test_the_last_common_name_counts() -> None:
    names = [x509.NameAttribute(NameOID.COMMON_NAME, n) for n in ("first", "last")]
    user = certificates().user(presented(TENANTS.sign(7, unsigned(x509.Name(names)))), 7)
    assert user is not None and user.name == "last"


def test_uids_are_one_or_none() -> None:
    uids = [x509.NameAttribute(UID, u) for u in ("a", "b")]
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "u"), *uids])
    some = presented(TENANTS.sign(7, unsigned(subject)))
    assert refusal(some) == "expected 1 UID, but found multiple"


@pytest.mark.parametrize("begins", [-2 * HOUR, HOUR])
def test_out_of_its_time_it_is_refused(begins: timedelta) -> None:
    late = unsigned(name("u"), begins=begins, lasts=HOUR)
    assert "expired or is not yet valid" in refusal(presented(TENANTS.sign(7, late)))
    assert "expired or is not yet valid" in refusal(presented(ROOT.sign(late)))


def test_its_end_is_looked_at_with_every_request() -> None:
    known, some = certificates(), own()
    assert known.user(some, 7) is not None
    with pytest.raises(Refused):
        known.user(some, 7, datetime.now(UTC) + 2 * HOUR)


@pytest.mark.parametrize(
    ("purpose", "good"),
    [
        (ExtendedKeyUsageOID.SERVER_AUTH, False),
        (ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE, True),
        (None, True),
    ],
)
def test_what_it_is_for(purpose: x509.ObjectIdentifier | None, good: bool) -> None:
    some = unsigned(name("u"), purpose=purpose)
    for signed in (TENANTS.sign(7, some), ROOT.sign(some)):
        if good:
            assert certificates().user(presented(signed), 7) is not None
        else:
            assert "incompatible key usage" in refusal(presented(signed))


def test_an_altered_certificate_is_refused() -> None:
    der = bytearray(own("alice").chain[0])
    der[der.index(b"alice")] = ord("b")
    assert "unknown authority" in refusal(
        Presented([bytes(der)]), known=ClientCertificates(TENANTS)
    )


def test_who_has_a_certificate_signs_none() -> None:
    """A client's own key, under the name of the authority, and with its certificate beside."""
    holder = TENANTS.sign(7, unsigned(name("u")))
    forged = unsigned(name("admin", "system:masters")).issuer_name(NAME)
    identifier = holder.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    signed = forged.add_extension(identifier, critical=False).sign(key(), hashes.SHA256())
    assert refusal(presented(signed, holder))
    other = unsigned(name("admin")).issuer_name(holder.subject).sign(key(), hashes.SHA256())
    assert refusal(presented(other, holder))


def test_nonsense_is_refused() -> None:
    assert refusal(Presented([b"nonsense"]))
    assert "too many" in refusal(presented(*[ROOT.certificate] * 9))


@pytest.mark.parametrize(
    ("written", "instead"),
    [(b"\x0c\x04nice", b"\x03\x04\x00ice"), (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x17")],
    ids=["name of bits", "version"],
)
def test_what_cannot_be_read_is_refused(written: bytes, instead: bytes) -> None:
    """The library has other errors for these than ValueError."""
    der = STRANGER.sign(unsigned(name("nice"))).public_bytes(Encoding.DER)
    assert der.count(written) == 1
    some = Presented([der.replace(written, instead)])
    assert certificates().tenant(some) == 0
    assert refusal(some).startswith("x509: ")


def test_the_installations_are_good_everywhere() -> None:
    some = presented(ROOT.sign(unsigned(name("op", "system:masters"))))
    for tenant in (7, 8):
        user = certificates().user(some, tenant)
        assert user is not None and user.everywhere
    assert certificates().tenant(some) == 0


def test_chains_lead_to_them() -> None:
    known, signed = certificates(), MIDDLE.sign(unsigned(name("op")))
    assert refusal(presented(signed)), "what is between is missing"
    assert known.user(presented(signed, MIDDLE.certificate), 7) is not None
    assert known.user(presented(signed), 7) is not None, "a session that is resumed"


def test_only_authorities_sign() -> None:
    signed = NO_AUTHORITY.sign(unsigned(name("op")))
    assert refusal(presented(signed, NO_AUTHORITY.certificate))


def test_few_authorities_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven of one name that sign each other have a million ways through them."""
    tried = []
    check = clientcertificates._check_authority
    monkeypatch.setattr(
        clientcertificates,
        "_check_authority",
        lambda certificate, held: [tried.append(certificate), check(certificate, held)][1],
    )
    circle = [Authority("circle").certificate for _ in range(7)]
    assert refusal(presented(Authority("circle").sign(unsigned(name("op"))), *circle))
    assert len(tried) == 16


def test_an_authority_whose_signatures_take_long_to_verify_is_none() -> None:
    usual, slow = rsa_keys()
    for key_, good in ((usual, True), (slow, False)):
        subject = name("rsa")
        authority = ROOT.sign(
            unsigned(subject, is_authority=True, purpose=None, of=key_.public_key())
        )
        signed = unsigned(name("op")).issuer_name(subject).sign(key_, hashes.SHA256())
        if good:
            assert certificates().user(presented(signed, authority), 7) is not None
        else:
            assert "exponent" in refusal(presented(signed, authority))


def test_without_any_of_the_installation_only_tenants_count() -> None:
    alone = ClientCertificates(TENANTS)
    assert "unknown" in refusal(presented(ROOT.sign(unsigned(name("op")))), known=alone)
    assert alone.user(own(), 7) is not None
