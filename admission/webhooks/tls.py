"""TLS towards webhooks: each caBundle is the only authority of its webhook; without one, the system's authorities are.

A certificate must carry the host's name among its alternative names, and every certificate of the bundle is trusted as it stands, as in
Go's crypto/x509.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections import OrderedDict

from admission.webhooks.errors import CallFailed

_KEPT = 200
"""Contexts; as many clients as k8s.io/apiserver keeps."""


class Contexts:
    def __init__(self) -> None:
        self._made: OrderedDict[bytes, ssl.SSLContext] = OrderedDict()

    def of(self, bundle: bytes) -> ssl.SSLContext:
        """``bundle``: PEM. Raises CallFailed."""
        if not bundle.strip():
            bundle = b""
        context = self._made.get(bundle)
        if context is None:
            context = self._made[bundle] = _context(bundle)
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        else:
            self._made.move_to_end(bundle)
        return context


def _context(bundle: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if not bundle:
        context.load_default_certs()
        return context
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=bundle.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise CallFailed("unable to load root certificates: unable to parse bytes as PEM block") from None
    return context


_UNKNOWN_AUTHORITY = frozenset({2, 7, 18, 19, 20, 21})
_NOT_VALID_NOW = frozenset({9, 10})
_WRONG_HOST = frozenset({62, 64})


def failure_text(error: ssl.SSLError, host: str) -> str:
    """What went wrong with a handshake, as Go says it. ``host``: whom the certificate should be for."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {_verification(error, host)}"
    if "WRONG_VERSION_NUMBER" in str(error) or "HTTP_REQUEST" in str(error) or "RECORD_LAYER_FAILURE" in str(error):
        return "http: server gave HTTP response to HTTPS client"
    return f"tls: {error.reason or error}"


def _verification(error: ssl.SSLCertVerificationError, host: str) -> str:
    code = error.verify_code
    if code in _UNKNOWN_AUTHORITY:
        return "certificate signed by unknown authority"
    if code in _NOT_VALID_NOW:
        return "certificate has expired or is not yet valid"
    if code in _WRONG_HOST:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return f"certificate is not valid for {host}"
        return f"cannot validate certificate for {host} because it doesn't contain any IP SANs"
    return error.verify_message
