"""From a name to a connection over TLS, to addresses only that may be called. Errors are worded as
Go's, because clients get to read them."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl

from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.connection import Gone
from admission.webhooks.errors import CallFailed
from admission.webhooks.names import Resolver
from admission.webhooks.tls import failure_text

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Dialer:
    """One per process and kind of server, on its event loop. policy: which addresses it connects
    to; called: what it would call at others, as messages say it."""

    def __init__(self, policy: AddressPolicy, called: str) -> None:
        self.policy, self._called = policy, called
        self._names = Resolver()

    def close(self) -> None:
        self._names.close()

    async def dial(
        self, tenant: int, host: str, port: int, context: ssl.SSLContext, name: str
    ) -> Streams:
        """To the first of the host's addresses that answers. name: whom the certificate must be
        for. Raises CallFailed."""
        try:
            addresses = await self._names.resolve(tenant, host)
        except OSError:
            raise CallFailed(f"dial tcp: lookup {host}: no such host") from None
        problem = ""
        for address in addresses:
            where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
            if not self.policy.permits(address):
                problem = (
                    f"dial tcp {where}: this server does not call {self._called} at that address"
                )
                continue
            try:
                return await asyncio.open_connection(
                    address, port, ssl=context, server_hostname=name
                )
            except ssl.SSLError as error:
                raise CallFailed(failure_text(error, name)) from None
            except (ConnectionResetError, ConnectionAbortedError):
                problem = f"read tcp {where}: connection reset by peer"
            except OSError as error:
                problem = f"dial tcp {where}: connect: {_errno_text(error)}"
            except ValueError as error:  # the name is none that a certificate could have
                raise CallFailed(f"dial tcp {where}: {error}") from None
        raise CallFailed(problem)


def why_failed(error: Exception) -> str:
    """``error``: TimeoutError, or what a `Connection` raises."""
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, Gone):
        return "EOF"
    return _errno_text(error) if isinstance(error, OSError) else str(error)


def _errno_text(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or not error.errno or error.errno < 0:
        return str(error)
    return os.strerror(error.errno).lower()
