"""TenantKey: signs and verifies the JSON Web Tokens of one tenant's service accounts (RFC 7515,
7517, 7519; ES256 only).

Every tenant has a P-256 key of its own, derived (HKDF, RFC 5869) from the installation's secret and
the tenant's number: what one tenant's API signs verifies nowhere else, neither here nor at somebody
who trusts another tenant's published keys; all machines that share the secret have the same keys;
and nothing more has to be stored. The algorithm that a token names is compared, never obeyed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Any, NamedTuple

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from apiserver.authn.derivedkeys import derived_key

ALGORITHM = "ES256"
_HALF = 32
"""Bytes of each of the two numbers of a signature, and of a coordinate."""
_COMPACT = re.compile(r"([\w-]+)\.([\w-]+)\.([\w-]+)", re.ASCII)
_ECDSA = ec.ECDSA(hashes.SHA256())


class Unsigned(NamedTuple):
    """A token that nobody has verified yet. header, claims: what it says of itself; signed: the
    bytes that the signature is about."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signed: bytes
    signature: bytes


def parse(token: str) -> Unsigned | None:
    """The parts of a JWT in compact form; None for any other text."""
    match = _COMPACT.fullmatch(token)
    if match is None:
        return None
    try:
        header, claims = (orjson.loads(_decode(part)) for part in match.groups()[:2])
        signature = _decode(match[3])
    except (ValueError, binascii.Error):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return Unsigned(header, claims, token[: match.end(2)].encode(), signature)


class TenantKey:
    """kid: names the key in tokens and in the published key set; it is a hash of the public key."""

    def __init__(self, secret: bytes, tenant: int) -> None:
        """``secret``: of the installation; ``tenant``: the number of its row."""
        self._private = derived_key(secret, b"polyplane service account key", tenant)
        self._public = self._private.public_key()
        der = self._public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.kid = _encode(hashlib.sha256(der).digest())

    def sign(self, claims: dict[str, Any]) -> str:
        """The token in compact form; members in the order of their names, as go-jose writes
        them."""
        header = _encode(orjson.dumps({"alg": ALGORITHM, "kid": self.kid}))
        signed = f"{header}.{_encode(orjson.dumps(claims, option=orjson.OPT_SORT_KEYS))}"
        r, s = decode_dss_signature(self._private.sign(signed.encode(), _ECDSA))
        return f"{signed}.{_encode(r.to_bytes(_HALF) + s.to_bytes(_HALF))}"

    def verifies(self, token: Unsigned) -> bool:
        """Whether this key made the signature, in this algorithm, whatever the token's header would
        rather have."""
        if (
            len(token.signature) != 2 * _HALF
            or token.header.get("alg") != ALGORITHM
            or "crit" in token.header
        ):
            return False
        r, s = int.from_bytes(token.signature[:_HALF]), int.from_bytes(token.signature[_HALF:])
        try:
            self._public.verify(encode_dss_signature(r, s), token.signed, _ECDSA)
        except InvalidSignature:
            return False
        return True

    def jwk(self) -> dict[str, str]:
        """The public key as RFC 7517 writes it."""
        numbers = self._public.public_numbers()
        x, y = (_encode(n.to_bytes(_HALF)) for n in (numbers.x, numbers.y))
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self.kid,
            "crv": "P-256",
            "alg": ALGORITHM,
            "x": x,
            "y": y,
        }


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
