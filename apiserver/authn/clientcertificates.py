"""ClientCertificates: who a client is that opened TLS with a certificate.

TLS itself has only proven that the client has the certificate's key (`controlplane.serving.
clientcertificates`): any certificate gets that far, so that a bad one is answered like a bad token,
with 401. Whose it is, is found out here, at the first request that a connection brings: a tenant's
authority makes users of that tenant, those of the installation make users of all of them. Only what
an authority has signed itself counts for a tenant; chains count for those of the installation.

Sources: k8s.io/apiserver ``authentication/request/x509``, Go's ``crypto/x509``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from apiserver.authn import counts
from apiserver.authn.accountclaims import Refused
from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.signers import common_name, organizations
from apiserver.authn.unreadable import UNREADABLE
from apiserver.meta.newest import Newest
from apiserver.user import CREDENTIAL_ID, User, authenticated

EVERYWHERE = 0
"""In the place of a tenant's number: users of all tenants."""
_UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
_PURPOSES = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
_LONGEST_CHAIN, _MOST_TRIED = 8, 16
_LARGEST_EXPONENT = 2**31
"""Of a key of RSA, as in Go: with one as long as the key a signature takes 10 ms to verify."""
_REMEMBERED = 4096  # certificates


@dataclass(frozen=True, slots=True)
class Holder:
    """tenant: its number, or `EVERYWHERE`; user: None for a certificate without a common name,
    which is nobody's; own_end: of the client's own certificate, without what signed it."""

    tenant: int
    user: User | None
    begins: datetime
    ends: datetime
    own_end: datetime


class Presented:
    """What a client has presented on one connection. chain: certificates in DER, its own first,
    whose key it has; proxy: when it may speak for others, None for never."""

    __slots__ = ("chain", "judged", "proxy")

    def __init__(self, chain: Sequence[bytes]) -> None:
        self.chain = chain
        self.judged: Holder | Refused | None = None
        self.proxy: Times | None = None


class Times(NamedTuple):
    """Both included."""

    begins: datetime
    ends: datetime


class FrontProxies:
    """Who may say in headers whose request it passes on: whoever has a certificate of
    ``authorities``, of which the common name is one of ``names``, where there are any."""

    def __init__(self, authorities: Sequence[x509.Certificate], names: Iterable[str] = ()) -> None:
        self._store, self._names = Store(list(authorities)), frozenset(names)
        self._times = Newest[bytes, Times](_REMEMBERED)

    def judge(self, chain: Sequence[bytes]) -> Times | None:
        """``chain``: as `Presented` has it. A good one is remembered by its first certificate: a
        resumed session of TLS brings no more."""
        digest = hashlib.sha256(chain[0]).digest()
        times = self._times.get(digest)
        if times is None:
            try:
                times = self._judge(chain)
            except (Refused, *UNREADABLE):
                return None
            self._times.keep(digest, times)
        return times

    def _judge(self, chain: Sequence[bytes]) -> Times:
        """Raises Refused, and what a certificate that cannot be read raises."""
        if len(chain) > _LONGEST_CHAIN:
            raise Refused("x509: too many certificates")
        certificates = [x509.load_der_x509_certificate(der) for der in chain]
        if self._names and common_name(certificates[0].subject) not in self._names:
            raise Refused("x509: subject with that common name is not allowed")
        verified = _verified(self._store, certificates)
        for certificate in verified:
            _check_purpose(certificate)
        return _times(verified)


class ClientCertificates:
    """everywhere: the authorities of the installation; proxies: None where there are none."""

    def __init__(
        self,
        authority: ClientAuthority,
        everywhere: Sequence[x509.Certificate] = (),
        proxies: FrontProxies | None = None,
    ) -> None:
        self._authority, self._proxies = authority, proxies
        self._store = Store(list(everywhere)) if everywhere else None
        self._holders = Newest[bytes, Holder](_REMEMBERED)

    def is_proxy(self, presented: Presented) -> bool:
        """Whether the client may say, now, whose request it passes on."""
        if self._proxies is None:
            return False
        with suppress(Refused):
            self._holder(presented)
        times = presented.proxy
        return times is not None and times.begins <= datetime.now(UTC) <= times.ends

    def user(self, presented: Presented, tenant: int, now: datetime | None = None) -> User | None:
        """Who the client is in the tenant; None for nobody. Raises Refused for a certificate that
        is not good there and now."""
        holder, now = self._holder(presented), now or datetime.now(UTC)
        counts.certificate((holder.own_end - now).total_seconds())
        if holder.tenant not in (EVERYWHERE, tenant):
            raise Refused("x509: certificate signed by another tenant's authority")
        if not holder.begins <= now <= holder.ends:
            raise Refused("x509: certificate has expired or is not yet valid")
        return holder.user

    def tenant(self, presented: Presented) -> int:
        """The number of the one tenant that the certificate is for, expired or not; `EVERYWHERE`
        for one that is good in all, or in none."""
        try:
            return self._holder(presented).tenant
        except Refused:
            return EVERYWHERE

    def _holder(self, presented: Presented) -> Holder:
        """Raises Refused."""
        judged = presented.judged
        if judged is None:
            judged = presented.judged = self._remembered(presented)
            if self._proxies is not None:
                presented.proxy = self._proxies.judge(presented.chain)
            presented.chain = presented.chain[:1]
        if isinstance(judged, Refused):
            raise judged.with_traceback(None)
        return judged

    def _remembered(self, presented: Presented) -> Holder | Refused:
        """Good ones are remembered: a session that is resumed brings the client's own certificate
        alone, and not what it was signed by."""
        digest = hashlib.sha256(presented.chain[0]).digest()
        holder = self._holders.get(digest)
        if holder is None:
            try:
                holder = self._judge(presented.chain, digest)
            except Refused as refused:
                return refused
            except UNREADABLE as e:
                return Refused(f"x509: {e}")
            self._holders.keep(digest, holder)
        else:
            self._holders.move_to_end(digest)
        return holder

    def _judge(self, chain: Sequence[bytes], digest: bytes) -> Holder:
        """Raises Refused, and what a certificate that cannot be read raises."""
        if len(chain) > _LONGEST_CHAIN:
            raise Refused("x509: too many certificates")
        certificates = [x509.load_der_x509_certificate(der) for der in chain]
        own = certificates[0]
        tenant = self._authority.signer(own)
        verified = [own] if tenant else self._chain(certificates)
        for certificate in verified:
            _check_purpose(certificate)
        user = _user(own, digest, everywhere=not tenant)
        return Holder(tenant or EVERYWHERE, user, *_times(verified), own.not_valid_after_utc)

    def _chain(self, certificates: list[x509.Certificate]) -> list[x509.Certificate]:
        """Raises Refused."""
        if self._store is None:
            raise Refused("x509: certificate signed by unknown authority")
        return _verified(self._store, certificates)


def _verified(store: Store, certificates: list[x509.Certificate]) -> list[x509.Certificate]:
    """From the client's own to an authority of the store. Looked at as of the time at which the
    client's own one begins, or now if that is later than its end: who is late is told from who
    never was good by the caller. Raises Refused."""
    own, now = certificates[0], datetime.now(UTC)
    moment = min(max(now, own.not_valid_before_utc), own.not_valid_after_utc)
    policies = {
        "ee_policy": ExtensionPolicy.permit_all(),
        "ca_policy": ExtensionPolicy.permit_all().require_present(
            x509.BasicConstraints, Criticality.AGNOSTIC, _Authorities()
        ),
    }
    verifier = (
        PolicyBuilder()
        .store(store)
        .time(moment)
        .max_chain_depth(_LONGEST_CHAIN)
        .extension_policies(**policies)
        .build_client_verifier()
    )
    try:
        chain = verifier.verify(own, certificates[1:]).chain
    except VerificationError as e:
        raise Refused(f"x509: {e}") from None
    for below, certificate in enumerate(chain[1:]):
        _check_length(certificate, below)
    return chain


def _times(verified: Sequence[x509.Certificate]) -> Times:
    begins = max(c.not_valid_before_utc for c in verified)
    return Times(begins, min(c.not_valid_after_utc for c in verified))


class _Authorities:
    """Looks at each that may have signed something, before its signature is verified, and at few in
    all: who has not proven anything yet chooses how many have the name of one that is looked for,
    and their keys."""

    def __init__(self) -> None:
        self._left = _MOST_TRIED

    def __call__(
        self, policy: Policy, certificate: x509.Certificate, held: x509.BasicConstraints
    ) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError("too many authorities")
        _check_authority(certificate, held)


def _check_authority(certificate: x509.Certificate, held: x509.BasicConstraints) -> None:
    if not held.ca:
        raise ValueError("it is no authority")
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.public_numbers().e >= _LARGEST_EXPONENT:
        raise ValueError("its public exponent is too large")
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return
    if not usage.key_cert_sign:
        raise ValueError("it may not sign certificates")


def _check_length(certificate: x509.Certificate, below: int) -> None:
    """``below``: authorities between this one and the client's certificate."""
    held = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    if held.path_length is not None and below > held.path_length:
        raise Refused("x509: too many intermediates for path length constraint")


def _check_purpose(certificate: x509.Certificate) -> None:
    try:
        held = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return  # good for anything
    if not _PURPOSES & set(held):
        raise Refused("x509: certificate specifies an incompatible key usage")


def _user(certificate: x509.Certificate, digest: bytes, *, everywhere: bool) -> User | None:
    subject = certificate.subject
    name = common_name(subject)
    if not name:
        return None
    uids = subject.get_attributes_for_oid(_UID)
    if len(uids) > 1:
        raise Refused("expected 1 UID, but found multiple")
    uid = uids[0].value if uids else ""
    if uids and (not uid or not isinstance(uid, str)):
        raise Refused("UID cannot be an empty string")
    extra = {CREDENTIAL_ID: (f"X509SHA256={digest.hex()}",)}
    return User(name, str(uid), authenticated(organizations(subject), name), extra, everywhere)
