"""TLS certificates in Secrets: whether a certificate and a private key belong together, in the
words of Go's tls.X509KeyPair, and when certificates end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

_BLOCK = re.compile(rb"-----BEGIN ([^-\n]*)-----\s.*?-----END \1-----[ \t]*(?:\r?\n|$)", re.DOTALL)

_BEGIN = b"-----BEGIN CERTIFICATE-----"
MOST_OF_A_CHAIN = 10


def pair_problem(certificate: bytes, key: bytes) -> str:
    """What is wrong with the pair; "" when it is a pair."""
    kinds = [m[1].decode() for m in _BLOCK.finditer(certificate)]
    block = next((m[0] for m in _BLOCK.finditer(certificate) if m[1] == b"CERTIFICATE"), None)
    if block is None:
        return _no_certificate(kinds)
    private = next(
        (
            m
            for m in _BLOCK.finditer(key)
            if m[1] == b"PRIVATE KEY" or m[1].endswith(b" PRIVATE KEY")
        ),
        None,
    )
    key_kinds = [m[1].decode() for m in _BLOCK.finditer(key)]
    if private is None:
        return _no_key(key_kinds)
    try:
        public = x509.load_pem_x509_certificate(block).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        loaded = load_pem_private_key(private[0], None)
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
    """When each of the first `MOST_OF_A_CHAIN` certificates ends that can be read; in one pass,
    whatever somebody has made of the text."""
    for after in chain.split(_BEGIN, MOST_OF_A_CHAIN)[1:]:
        try:
            certificate = x509.load_pem_x509_certificate(_BEGIN + after)
            yield certificate.not_valid_after_utc
        except (ValueError, UnsupportedAlgorithm):
            continue


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
