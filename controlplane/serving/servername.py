"""What a connection itself says of the tenant that is meant, told to the application in extensions
of its scope: whose port it came to (POLYPLANE_TENANT_PORTS), and the host that the client named
when it began TLS (SNI, RFC 6066), noted during the handshake where hosts name tenants
(POLYPLANE_TENANT_DOMAIN). The application sees to it that they agree with each other and with the
request.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from apiserver.endpoints.request import PORT_OF, SERVER_NAME

_ATTRIBUTE = "polyplane_server_name"


def note_in(context: ssl.SSLContext) -> None:
    """Connections of the context know their server name from now on."""

    def note(
        connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext
    ) -> None:
        setattr(connection, _ATTRIBUTE, name or "")

    context.sni_callback = note


def extension(transport: asyncio.BaseTransport | None, tenant: str) -> dict[str, Any]:
    """For the extensions of the scopes of a connection; ``tenant``: whose port it is, "" for that
    of all. Empty where no name was noted, either."""
    connection = transport.get_extra_info("ssl_object") if transport is not None else None
    name = getattr(connection, _ATTRIBUTE, "")
    port = {PORT_OF: tenant} if tenant else {}
    return {**port, SERVER_NAME: name} if name else port
