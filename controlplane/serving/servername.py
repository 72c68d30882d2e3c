"""The host that a client names when it begins TLS (SNI, RFC 6066): noted during the handshake, told
to the application as an extension of its scope.

Only where hosts name tenants (POLYPLANE_TENANT_DOMAIN): the name then says which one is meant, and
has to agree with the Host header.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from apiserver.endpoints.request import SERVER_NAME

_ATTRIBUTE = "polyplane_server_name"


def note_in(context: ssl.SSLContext) -> None:
    """Connections of the context know their server name from now on."""

    def note(
        connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext
    ) -> None:
        setattr(connection, _ATTRIBUTE, name or "")

    context.sni_callback = note


def extension(transport: asyncio.BaseTransport | None) -> dict[str, Any]:
    """For the extensions of the scopes of a connection: empty where no name was noted."""
    connection = transport.get_extra_info("ssl_object") if transport is not None else None
    name = getattr(connection, _ATTRIBUTE, "")
    return {SERVER_NAME: name} if name else {}
