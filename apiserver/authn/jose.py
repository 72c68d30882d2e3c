"""JSON Web Tokens as they come: read without believing them, and verified by one key and one
algorithm. The work is PyJWT's; what it is lenient about, and go-jose is not, is refused here.

The algorithm that a token names is compared, never obeyed; what else its header says of keys
(``jwk``, ``jku``, ``x5c``, ``x5u``) is not looked at, and a header that must be understood
(``crit``) is not.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt import PyJWTError
from jwt.api_jws import PyJWS
from jwt.utils import base64url_decode

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

ALGORITHMS = tuple(f"{family}{bits}" for family in ("RS", "ES", "PS") for bits in (256, 384, 512))
"""All that anybody may sign with: no secrets that are shared, and never none."""
LONGEST = 64 * 1024
"""Characters of a token, as many as a request's headers have room for."""
_LONGEST_HEADER = 16 * 1024
"""Of its first part: that has room for a chain of certificates."""
_JWS = PyJWS(list(ALGORITHMS), {"verify_signature": True, "enforce_minimum_key_length": True})


class Unsigned(NamedTuple):
    """A token that nobody has verified yet. header, claims: what it says of itself; text: all of
    it, in compact form."""

    header: dict[str, Any]
    claims: dict[str, Any]
    text: str


@lru_cache(maxsize=4)
def parse(token: str) -> Unsigned | None:
    """None for what is no JWT in compact form, and for one that says something twice. The last few
    are remembered: whoever may have made a token reads it, and one that nobody has made may be as
    long as it likes. Nobody changes what is returned."""
    odd = "=" in token or token.endswith(".") or not token.isascii()
    if odd or len(token) > LONGEST or token.count(".") != 2:
        return None
    if token.index(".") > _LONGEST_HEADER:
        return None
    try:
        read = _JWS.decode_complete(token, options=_UNVERIFIED)
        header = _object(base64url_decode(token.partition(".")[0]))
        claims = _object(read["payload"])
    except (PyJWTError, ValueError, RecursionError):
        return None
    return Unsigned(header, claims, token)


def verifies(token: Unsigned, key: PublicKey, algorithm: str) -> bool:
    """Whether the key made the signature, in this algorithm, whatever the header would rather
    have."""
    if "crit" in token.header or "b64" in token.header:
        return False
    try:
        _JWS.decode_complete(token.text, key, [algorithm])
    except (PyJWTError, ValueError, TypeError):
        return False
    return True


def sign(payload: bytes, key: PrivateKey, algorithm: str, kid: str) -> str:
    """``payload``: JSON. The header says algorithm and key, and nothing else."""
    return _JWS.encode(payload, key, algorithm, {"kid": kid, "typ": None})


_UNVERIFIED: Any = {"verify_signature": False}


def _object(data: bytes) -> dict[str, Any]:
    """Raises ValueError for what is no JSON object, and for one in which a name comes twice, on
    any level: readers differ about which one counts."""
    value = orjson.loads(data)
    if not isinstance(value, dict):
        raise ValueError("no object")
    json.loads(data, object_pairs_hook=_once)
    return value


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name comes twice")
