"""The tokens of service accounts that every process of an installation issues and accepts.

Their keys come from the secret key, which all machines of an installation share, and from what the
database says of generations (`controlplane.tenancy.accountkeys`).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from apiserver.authn.accountkeys import KeyStore
from apiserver.authn.serviceaccounts import ISSUER, AccountTokens
from controlplane import environment
from controlplane.errors import OperatorError

_NAME = "SERVICE_ACCOUNT_ISSUER"


def account_tokens(secret_key: str, store: KeyStore | None = None) -> AccountTokens:
    """Raises OperatorError."""
    return AccountTokens(secret_key.encode(), service_account_issuer(), store=store)


def service_account_issuer() -> str:
    """Of the default tenant. Raises OperatorError for an issuer that no relying party would accept
    (OpenID Connect Discovery 1.0, section 3)."""
    issuer = environment.text(_NAME) or ISSUER
    try:
        url = urlsplit(issuer)
        good = url.scheme == "https" and bool(url.hostname) and not url.query and not url.fragment
    except ValueError:
        good = False
    if not good:
        raise OperatorError(
            f"POLYPLANE_{_NAME}={issuer!r} is no https URL without query and fragment.",
            f"unset POLYPLANE_{_NAME} (default {ISSUER}).",
        )
    return issuer.rstrip("/")
