"""The tokens of service accounts that every process of an installation issues and accepts.

Their keys are derived from the secret key, which all machines of an installation share, so there is
nothing else to keep or to hand round.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from apiserver.authn.serviceaccounts import ISSUER, AccountTokens
from controlplane import environment
from controlplane.errors import OperatorError

_NAME = "SERVICE_ACCOUNT_ISSUER"


def account_tokens(secret_key: str) -> AccountTokens:
    """Raises OperatorError for an issuer that no relying party would accept (OpenID Connect
    Discovery 1.0, section 3)."""
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
    return AccountTokens(secret_key.encode(), issuer.rstrip("/"))
