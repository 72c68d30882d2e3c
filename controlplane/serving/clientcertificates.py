"""TLS asks clients for a certificate, and takes none, or any whose key can be one: what it is worth
is judged with the requests (`apiserver.authn.clientcertificates`), so that a bad one is answered
with 401, as kube-apiserver answers it (Go's ``tls.RequestClientCert``).

Python's ssl can only let OpenSSL refuse during the handshake, which tells a client nothing, and
cannot say which authorities are meant, so that browsers would ask their users to choose among all
certificates they have. Both are one call of OpenSSL each, made here through ctypes on the very
libssl that the interpreter uses. Where that is not to be found, no certificate is asked for.
"""

from __future__ import annotations

import _ssl
import asyncio
import ctypes
import logging
import ssl
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from apiserver.authn.clientcertificates import Presented
from apiserver.authn.unreadable import UNREADABLE
from apiserver.endpoints.request import CLIENT_CERTIFICATE

log = logging.getLogger("polyplane.serving")

_Pointer = ctypes.c_void_p
_Verify = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, _Pointer)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "OpenSSL_version": (ctypes.c_char_p, [ctypes.c_int]),
    "d2i_X509": (_Pointer, [_Pointer, _Pointer, ctypes.c_long]),
    "X509_free": (None, [_Pointer]),
    "SSL_CTX_add_client_CA": (ctypes.c_int, [_Pointer, _Pointer]),
    "SSL_CTX_ctrl": (ctypes.c_long, [_Pointer, ctypes.c_int, ctypes.c_long, _Pointer]),
    "SSL_CTX_set_cert_verify_callback": (None, [_Pointer, _Verify, _Pointer]),
    "X509_STORE_CTX_get0_cert": (_Pointer, [_Pointer]),
    "X509_get_X509_PUBKEY": (_Pointer, [_Pointer]),
    "i2d_X509_PUBKEY": (ctypes.c_int, [_Pointer, _Pointer]),
}
"""What they return and take."""
_MAX_BYTES = 16 * 1024
"""Of a client's certificates: whoever opens a connection can make the server keep so many."""
_SET_MAX_CERT_LIST = 51  # SSL_CTRL_SET_MAX_CERT_LIST
_LARGEST_EXPONENT = 2**31
"""Of a key of RSA, as in Go. Whoever has one of the key's own length proves in no time that it is
his, and makes the server compute 8 ms to believe it."""


def _take(store: int, argument: int | None) -> int:
    """``store``: an X509_STORE_CTX. 0 ends the handshake; so does an error."""
    openssl = _openssl()
    certificate = openssl.X509_STORE_CTX_get0_cert(store)
    key = openssl.X509_get_X509_PUBKEY(certificate) if certificate else None
    size = openssl.i2d_X509_PUBKEY(key, None) if key else 0
    if size <= 0:
        return 0
    der = ctypes.create_string_buffer(size)
    end = _Pointer(ctypes.addressof(der))
    return int(openssl.i2d_X509_PUBKEY(key, ctypes.byref(end)) == size and _is_quick(der.raw))


def _is_quick(der: bytes) -> bool:
    """Whether what the key has signed is verified in no time; a key that cannot be read is nobody's
    whom we know."""
    try:
        key = load_der_public_key(der)
    except UNREADABLE:
        return False
    return not isinstance(key, RSAPublicKey) or key.public_numbers().e < _LARGEST_EXPONENT


_TAKE = _Verify(_take)
"""OpenSSL calls it as long as there are contexts: it must not be collected."""


def ask(context: ssl.SSLContext, authorities: Sequence[bytes]) -> bool:
    """Asks the context's clients for a certificate. authorities: certificates, in DER, whose names
    clients choose by. Whether it could be done; if not, the context is as it was."""
    libraries = _openssl() if _is_pythons(context) else None
    if libraries is None:
        log.warning("client certificates are not asked for: no OpenSSL is found")
        return False
    openssl, pointer = libraries, _pointer_of(context)
    for der in authorities:
        begin = ctypes.c_char_p(der)
        certificate = openssl.d2i_X509(None, ctypes.byref(begin), len(der))
        if not certificate:
            raise ValueError("OpenSSL cannot read the certificate of an authority")
        openssl.SSL_CTX_add_client_CA(pointer, certificate)
        openssl.X509_free(certificate)
    openssl.SSL_CTX_ctrl(pointer, _SET_MAX_CERT_LIST, _MAX_BYTES, None)
    openssl.SSL_CTX_set_cert_verify_callback(pointer, _TAKE, None)
    context.verify_mode = ssl.CERT_OPTIONAL
    return True


def extension(transport: asyncio.BaseTransport | None) -> dict[str, Any]:
    """For the extensions of the scopes of a connection: empty where no certificate was
    presented."""
    connection = transport.get_extra_info("ssl_object") if transport is not None else None
    own = connection.getpeercert(binary_form=True) if connection is not None else None
    if not own:
        return {}
    return {CLIENT_CERTIFICATE: Presented([own, *_others(connection, own)])}


def _others(connection: Any, own: bytes) -> list[bytes]:
    """What the client has sent beside its own certificate."""
    if sys.version_info >= (3, 13):
        chain = connection.get_unverified_chain()
    else:
        chain = [c.public_bytes(_ssl.ENCODING_DER) for c in _unverified(connection)]
    return [der for der in chain if der != own]


def _unverified(connection: Any) -> Sequence[Any]:
    return connection._sslobj.get_unverified_chain() or ()


def _pointer_of(context: ssl.SSLContext) -> int:
    """The SSL_CTX of the context: CPython keeps it right behind the head of the object
    (``PySSLContext`` in Modules/_ssl.c, in all versions since 3.2)."""
    value = _Pointer.from_address(id(context) + object.__basicsize__).value
    assert value is not None
    return value


def _is_pythons(context: object) -> bool:
    """Packages put others in the place of ssl.SSLContext."""
    return isinstance(context, _ssl._SSLContext)


@cache
def _openssl() -> Any:
    """The functions of the libssl that Python's ssl module is bound to; None where they are not to
    be found. Where that module is a part of the interpreter, the name may lead to another OpenSSL,
    whose functions would take a context of this one for something else."""
    if sys.implementation.name != "cpython":
        return None
    try:
        library = ctypes.CDLL(getattr(_ssl, "__file__", None))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        same = library.OpenSSL_version(0) == ssl.OPENSSL_VERSION.encode()
    except (OSError, TypeError, AttributeError):
        return None
    return library if same else None
