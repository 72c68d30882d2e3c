"""Asking the running server whether it is ready, as a client would: over TLS, with the
installation's CA."""

from __future__ import annotations

import http.client
import ssl

from controlplane.certificates import ServingFiles


def client_context(files: ServingFiles) -> ssl.SSLContext:
    """Trusts the installation's CA, or the system's when the operator brought a certificate without
    its CA."""
    context = ssl.create_default_context(cadata=files.ca.decode() or None)
    context.check_hostname = (
        False  # the address asked is local; an operator's certificate need not carry it
    )
    return context


# 401 and 403: whoever sends no credential is refused (AlwaysAllow in the authorization mode, no
# anonymous requests); a server that judges requests has come up.
_UP = (200, 401, 403)


def is_ready(host: str, port: int, context: ssl.SSLContext, timeout: float = 2.0) -> bool:
    connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status in _UP
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
