"""What the signers of Kubernetes itself sign, and the certificates that come of it.

Sources: kubernetes ``pkg/controller/certificates/{signer,authority}`` and
``pkg/apis/certificates/helpers.go``. Pure, but for random serial numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.authn.clientca import END
from apiserver.authn.unreadable import UNREADABLE
from apiserver.user import NODES

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY = "kubernetes.io/legacy-unknown"

LONGEST, SHORTEST = timedelta(days=365), timedelta(minutes=10)
_BACKDATE = timedelta(minutes=5)
_SHORT = timedelta(hours=8)
"""A certificate for less than that does not end earlier because it begins earlier."""

_NODE = "system:node:"
_SUBJECT = (
    NameOID.COUNTRY_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.LOCALITY_NAME,
    NameOID.STATE_OR_PROVINCE_NAME,
    NameOID.STREET_ADDRESS,
    NameOID.POSTAL_CODE,
    NameOID.COMMON_NAME,
    NameOID.SERIAL_NUMBER,
)
"""What of a subject goes into the certificate, in this order (Go's pkix.Name). Anything else has
been approved by nobody who has seen it: a user's uid above all."""
_SINGLE = (NameOID.COMMON_NAME, NameOID.SERIAL_NUMBER)
_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}
"""In the order in which certificates list them."""

Request = x509.CertificateSigningRequest
Rule = Callable[[Request, Collection[str]], str]


def problem(signer: str, request: Request, usages: Collection[str]) -> str:
    """Why the signer refuses the request for good, or "". Raises KeyError for a signer that is not
    one of these, ValueError for a request that cannot be read."""
    return SIGNERS[signer](request, usages)


def is_kubelet_client(request: Request, usages: Collection[str]) -> bool:
    """Raises ValueError."""
    return not _kubelet_client(request, usages)


def common_name(name: x509.Name) -> str:
    """The last one, as Go has it; "" where there is none."""
    held = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return _text(held[-1]) if held else ""


def organizations(name: x509.Name) -> list[str]:
    return [_text(o) for o in name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def certificate(
    request: Request, usages: Sequence[str], seconds: int | None, now: datetime
) -> x509.CertificateBuilder:
    """What is to be signed for the request. seconds: that it wants to be good for. Raises
    ValueError for a request that its holder has not signed, or that cannot be read."""
    if not _is_signed(request):
        raise ValueError("the signature of the request is wrong")
    now = now.replace(microsecond=0)
    life = LONGEST if seconds is None else timedelta(seconds=seconds)
    life = max(SHORTEST, min(life, LONGEST))
    end = now + (life if life < _SHORT else life - _BACKDATE)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_subject(request.subject))
        .public_key(request.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(min(end, END))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    if names := _alternatives(request):
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _with_usages(builder, usages)


def _with_usages(
    builder: x509.CertificateBuilder, usages: Sequence[str]
) -> x509.CertificateBuilder:
    flags = {_USAGES[u] for u in usages if u in _USAGES}
    if "key_agreement" not in flags:
        flags -= {"encipher_only", "decipher_only"}  # say nothing without it (RFC 5280, 4.2.1.3)
    if flags:
        held = {flag: flag in flags for flag in _USAGES.values()}
        builder = builder.add_extension(x509.KeyUsage(**held), critical=True)
    extended = list(dict.fromkeys(oid for usage, oid in _EXTENDED.items() if usage in usages))
    if extended:
        builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
    return builder


def _client(request: Request, usages: Collection[str]) -> str:
    for usage in usages:
        if usage not in ("client auth", "digital signature", "key encipherment"):
            return f"invalid usage for client certificate: {usage}"
    if "client auth" not in usages:
        return "missing required usage for client certificate: client auth"
    return ""


def _kubelet_client(request: Request, usages: Collection[str]) -> str:
    if organizations(request.subject) != [NODES]:
        return "subject organization is not system:nodes"
    if wrong := _kept_out(request, x509.DNSName, x509.RFC822Name, x509.IPAddress, _URI):
        return wrong
    if not common_name(request.subject).startswith(_NODE):
        return "subject common name does not begin with system:node:"
    return _must_be(usages, "client auth")


def _kubelet_serving(request: Request, usages: Collection[str]) -> str:
    if organizations(request.subject) != [NODES]:
        return "subject organization is not system:nodes"
    if not any(isinstance(n, x509.DNSName | x509.IPAddress) for n in _alternatives(request)):
        return "DNS or IP subjectAltName is required"
    if wrong := _kept_out(request, x509.RFC822Name, _URI) or _must_be(usages, "server auth"):
        return wrong
    if not common_name(request.subject).startswith(_NODE):
        return "subject common name does not begin with system:node:"
    return ""


def _anything(request: Request, usages: Collection[str]) -> str:
    return ""


SIGNERS: dict[str, Rule] = {
    CLIENT: _client,
    KUBELET_CLIENT: _kubelet_client,
    KUBELET_SERVING: _kubelet_serving,
    LEGACY: _anything,
}

_URI = x509.UniformResourceIdentifier
_CALLED: dict[type[x509.GeneralName], str] = {
    x509.DNSName: "DNS",
    x509.RFC822Name: "Email",
    x509.IPAddress: "IP",
    _URI: "URI",
}


def _kept_out(request: Request, *kinds: type[x509.GeneralName]) -> str:
    names = _alternatives(request)
    for kind in kinds:
        if any(isinstance(name, kind) for name in names):
            return f"{_CALLED[kind]} subjectAltNames are not allowed"
    return ""


def _must_be(usages: Collection[str], purpose: str) -> str:
    """Key encipherment is for keys of RSA alone."""
    least = {"digital signature", purpose}
    if set(usages) in (least, least | {"key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(sorted(least | {'key encipherment'}))}]"


def _alternatives(request: Request) -> list[x509.GeneralName]:
    """Of the kinds that certificates are made with."""
    try:
        held = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    except UNREADABLE as e:
        raise ValueError(str(e)) from None
    kinds = x509.DNSName | x509.RFC822Name | x509.IPAddress | _URI
    return [name for name in held if isinstance(name, kinds)]


def _subject(subject: x509.Name) -> x509.Name:
    parts = []
    for oid in _SUBJECT:
        held = list(dict.fromkeys(subject.get_attributes_for_oid(oid)))
        if held:
            parts.append(x509.RelativeDistinguishedName(held[-1:] if oid in _SINGLE else held))
    return x509.Name(parts)


def _is_signed(request: Request) -> bool:
    try:
        key = request.public_key()
        kinds = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey
        return isinstance(key, kinds) and request.is_signature_valid
    except UnsupportedAlgorithm:
        return False


def _text(attribute: x509.NameAttribute[str | bytes]) -> str:
    value = attribute.value
    return value if isinstance(value, str) else value.decode("latin-1")
