"""Authenticating proxies in front, by the settings: which there are, and in which headers they say
whose requests they pass on."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from apiserver.authn.clientcertificates import FrontProxies
from apiserver.authn.requestheaders import HeaderNames
from controlplane import environment
from controlplane.errors import OperatorError

_CA = "REQUESTHEADER_CLIENT_CA_FILE"


def front_proxies() -> FrontProxies | None:
    """Raises OperatorError."""
    pem = proxy_cas()
    if not pem:
        return None
    names = environment.words("REQUESTHEADER_ALLOWED_NAMES")
    return FrontProxies(x509.load_pem_x509_certificates(pem.encode()), names)


def proxy_cas() -> str:
    """Certificates in PEM, "" for none. Raises OperatorError."""
    path = environment.text(_CA)
    try:
        pem = Path(path).read_text() if path else ""
        if path:
            x509.load_pem_x509_certificates(pem.encode())
    except (OSError, ValueError) as e:
        raise OperatorError(
            f"POLYPLANE_{_CA}={path!r} has no certificates: {e}",
            "name a file of certificates in PEM, or unset it.",
        ) from None
    return pem


def proxy_headers() -> HeaderNames:
    given = {
        "users": environment.words("REQUESTHEADER_USERNAME_HEADERS"),
        "uids": environment.words("REQUESTHEADER_UID_HEADERS"),
        "groups": environment.words("REQUESTHEADER_GROUP_HEADERS"),
        "extras": environment.words("REQUESTHEADER_EXTRA_HEADERS_PREFIX"),
    }
    lower = {field: tuple(map(str.lower, names)) for field, names in given.items() if names}
    return HeaderNames(**lower)
