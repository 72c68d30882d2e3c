"""What relying parties read to verify service account tokens: OpenID provider metadata and the key
set, one of each per tenant.

Source: kubernetes ``pkg/serviceaccount/openidmetadata.go``; OpenID Connect Discovery 1.0.
"""

from __future__ import annotations

from typing import Any

from apiserver.authn.accountkeys import Ring

CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/openid/v1/jwks"
MAX_AGE = 3600  # seconds


def configuration(issuer: str, keys: str, ring: Ring) -> dict[str, Any]:
    """``keys``: URL of the key set; ``ring``: what is in it."""
    algorithms = sorted({key.algorithm for key in ring.keys.values()})
    return {
        "issuer": issuer,
        "jwks_uri": keys,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": algorithms,
    }


def key_set(ring: Ring) -> dict[str, Any]:
    return {"keys": [key.jwk() for key in ring.keys.values()]}
