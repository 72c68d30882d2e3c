"""TLS towards webhooks: each caBundle is the only authority of its webhook; without one, the
system's authorities are.

A certificate must carry the host's name among its alternative names, and every certificate of the
bundle is trusted as it stands, as in Go's crypto/x509.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from admission.webhooks.errors import CallFailed

LARGEST = 64 * 1024
"""Bytes of a bundle."""
_KEPT, _KEPT_FOR_TENANT = 200, 16
"""Contexts; as many clients as k8s.io/apiserver keeps, and what one tenant may have of them."""


class Contexts:
    """Of one event loop. They are made in threads, for each tenant one at a time."""

    def __init__(self) -> None:
        self._contexts: OrderedDict[tuple[int, bytes], ssl.SSLContext] = OrderedDict()
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def of(self, tenant: int, bundle: bytes) -> ssl.SSLContext:
        """``bundle``: PEM. Raises CallFailed."""
        if len(bundle) > LARGEST:
            why = f"the CA bundle has {len(bundle)} bytes; this server takes at most {LARGEST}"
            raise CallFailed(f"unable to load root certificates: {why}", configured=False)
        if not bundle.strip():
            bundle = b""
        key = tenant, bundle
        turn = self._turns.get(tenant)
        if turn is None:
            turn = self._turns[tenant] = asyncio.Lock()
        async with turn:
            if key not in self._contexts:
                self._keep(key, await asyncio.to_thread(client_context, bundle))
            self._contexts.move_to_end(key)
            return self._contexts[key]

    def _keep(self, key: tuple[int, bytes], context: ssl.SSLContext) -> None:
        own = [other for other in self._contexts if other[0] == key[0]]
        if len(own) >= _KEPT_FOR_TENANT:
            del self._contexts[own[0]]
        self._contexts[key] = context
        if len(self._contexts) > _KEPT:
            self._contexts.popitem(last=False)


def client_context(bundle: bytes | None) -> ssl.SSLContext:
    """``bundle``: PEM; empty for the system's authorities, None where any certificate will do.
    Raises CallFailed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if bundle is None:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context
    if not bundle:
        context.load_default_certs()
        return context
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        for part in _parts(bundle.decode("ascii")):
            context.load_verify_locations(cadata=part)
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise CallFailed(
            "unable to load root certificates: unable to parse bytes as PEM block",
            configured=False,
        ) from None
    return context


def identify(context: ssl.SSLContext, pem: bytes) -> None:
    """Gives it a client certificate. ``pem``: its key, then its chain. Raises ssl.SSLError."""
    with tempfile.TemporaryDirectory() as directory:  # OpenSSL reads keys from files only
        path = Path(directory, "pem")
        path.touch(0o600)
        path.write_bytes(pem)
        context.load_cert_chain(path)


def _parts(text: str) -> Sequence[str]:
    """The certificates one by one, because OpenSSL keeps the interpreter's lock while it reads what
    it is given; a text without any as it is, which OpenSSL refuses."""
    parts, lines = list[str](), list[str]()
    for line in text.splitlines(keepends=True):
        lines.append(line)
        if line.startswith("-----END "):
            parts.append("".join(lines))
            lines = []
    parts.append("".join(lines))
    return [part for part in parts if "CERTIFICATE-----" in part] or [text]


_UNKNOWN_AUTHORITY = frozenset({2, 7, 18, 19, 20, 21})
_NOT_VALID_NOW = frozenset({9, 10})
_WRONG_HOST = frozenset({62, 64})


def failure_text(error: ssl.SSLError, host: str) -> str:
    """What went wrong with a handshake, as Go says it. ``host``: whom the certificate should be
    for."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {_verification(error, host)}"
    if (
        "WRONG_VERSION_NUMBER" in str(error)
        or "HTTP_REQUEST" in str(error)
        or "RECORD_LAYER_FAILURE" in str(error)
    ):
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
