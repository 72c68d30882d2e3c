"""TLS certificates in Secrets: whether a certificate and a private key belong together, in the
words of Go's tls.X509KeyPair, and when certificates end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_der_private_key

from apiserver.golang import pem

_CERTIFICATE = b"CERTIFICATE"
MOST_OF_A_CHAIN = 10


def pair_problem(certificate: bytes, key: bytes) -> str:
    """What is wrong with the pair; "" when it is a pair."""
    shown, kept = list(pem.blocks(certificate)), list(pem.blocks(key))
    block = next((b for b in shown if b.type == _CERTIFICATE), None)
    if block is None:
        return _no_certificate(_types(shown))
    private = next((b for b in kept if f" {_text(b)}".endswith(" PRIVATE KEY")), None)
    if private is None:
        return _no_key(_types(kept))
    try:
        public = x509.load_der_x509_certificate(block.data).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        loaded = load_der_private_key(private.data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    if not isinstance(
        loaded, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
    ):
        return "tls: unknown public key algorithm"
    if type(public) is not type(loaded.public_key()):
        return "tls: private key type does not match public key type"
    return "" if loaded.public_key() == public else "tls: private key does not match public key"


def ends(chain: bytes) -> Iterator[datetime]:
    """When each of the first `MOST_OF_A_CHAIN` certificates ends that can be read."""
    certificates = (block for block in pem.blocks(chain) if block.type == _CERTIFICATE)
    for block in islice(certificates, MOST_OF_A_CHAIN):
        try:
            yield x509.load_der_x509_certificate(block.data).not_valid_after_utc
        except (ValueError, UnsupportedAlgorithm):
            continue


def _types(blocks: list[pem.Block]) -> list[str]:
    return list(map(_text, blocks))


def _text(block: pem.Block) -> str:
    return block.type.decode(errors="replace")


def _no_certificate(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0] == "PRIVATE KEY":
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find "
            "a private key; PEM inputs may have been switched"
        )
    listed = " ".join(kinds)
    return (
        f'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping '
        f"PEM blocks of the following types: [{listed}]"
    )


def _no_key(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if len(kinds) == 1 and kinds[0] == "CERTIFICATE":
        return "tls: found a certificate rather than a key in the PEM for the private key"
    listed = " ".join(kinds)
    start = "tls: failed to find PEM block with type ending in"
    return (
        f'{start} "PRIVATE KEY" in key input after skipping PEM blocks of the following types: '
        f"[{listed}]"
    )
