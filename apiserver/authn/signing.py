"""SigningKey: signs and verifies the JSON Web Tokens of one tenant's service accounts (RFC 7515,
7517, 7519; ES256 and RS256)."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from apiserver.authn import jose
from apiserver.authn.derivedkeys import derived_key
from apiserver.authn.jose import PrivateKey, Unsigned

ES256, RS256 = "ES256", "RS256"
ALGORITHMS = (ES256, RS256)
_PUBLISHED = ("kty", "crv", "x", "y", "n", "e")


class SigningKey:
    """kid: names the key in tokens and in the published key set; it is a hash of the public key."""

    def __init__(self, private: PrivateKey) -> None:
        self._private, self._public = private, private.public_key()
        der = self._public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.kid = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
        self.algorithm = ES256 if isinstance(private, ec.EllipticCurvePrivateKey) else RS256

    def sign(self, claims: dict[str, Any]) -> str:
        """The token in compact form; members in the order of their names, as go-jose writes
        them."""
        payload = orjson.dumps(claims, option=orjson.OPT_SORT_KEYS)
        return jose.sign(payload, self._private, self.algorithm, self.kid)

    def verifies(self, token: Unsigned) -> bool:
        """Whether this key made the signature."""
        return jose.verifies(token, self._public, self.algorithm)

    def jwk(self) -> dict[str, str]:
        """The public key as RFC 7517 writes it."""
        if isinstance(self._public, ec.EllipticCurvePublicKey):
            jwk = ECAlgorithm.to_jwk(self._public, as_dict=True)
        else:
            jwk = RSAAlgorithm.to_jwk(self._public, as_dict=True)
        numbers = {name: jwk[name] for name in _PUBLISHED if name in jwk}
        return {"use": "sig", "kid": self.kid, "alg": self.algorithm, **numbers}


def derived(secret: bytes, tenant: int, salt: bytes = b"") -> SigningKey:
    """The P-256 key of the tenant of that number. ``secret``: of the installation; ``salt``: of a
    generation of keys, "" for the first one."""
    return SigningKey(derived_key(secret, b"polyplane service account key", tenant, salt))
