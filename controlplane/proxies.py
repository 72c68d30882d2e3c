"""Authenticating proxies in front, by the settings: which there are, and in which headers they say
whose requests they pass on."""

from __future__ import annotations

from cryptography import x509

from apiserver.authn.clientcertificates import FrontProxies
from apiserver.authn.requestheaders import HeaderNames
from controlplane import environment


def front_proxies() -> FrontProxies | None:
    """Raises OperatorError."""
    pem = proxy_cas()
    if not pem:
        return None
    names = environment.words("REQUESTHEADER_ALLOWED_NAMES")
    return FrontProxies(x509.load_pem_x509_certificates(pem.encode()), names)


def proxy_cas() -> str:
    """Who signs the certificates of proxies, in PEM; "" where nobody does. Raises OperatorError."""
    return environment.certificates("REQUESTHEADER_CLIENT_CA_FILE")


def proxy_headers() -> HeaderNames:
    given = {
        "users": environment.words("REQUESTHEADER_USERNAME_HEADERS"),
        "uids": environment.words("REQUESTHEADER_UID_HEADERS"),
        "groups": environment.words("REQUESTHEADER_GROUP_HEADERS"),
        "extras": environment.words("REQUESTHEADER_EXTRA_HEADERS_PREFIX"),
    }
    lower = {field: tuple(map(str.lower, names)) for field, names in given.items() if names}
    return HeaderNames(**lower)
