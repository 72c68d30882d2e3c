"""Connections that stop speaking HTTP: what a server below the application gives it for that, as an
extension of the ASGI scope, which ASGI itself has no word for.

Our own workers have it (`controlplane.serving`); behind another ASGI server a request to upgrade is
served as one that does not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from apiserver.endpoints.outlets import Transport
from apiserver.endpoints.request import ApiRequest, Message

TUNNEL = "polyplane.tunnel"
"""Among the extensions of an ASGI scope: an `Opener`, where the client has asked to upgrade."""

Headers = list[tuple[bytes, bytes]]


class Tunnel(Protocol):
    """The client's connection after its protocol has been switched. Little is read ahead."""

    @property
    def transport(self) -> Transport: ...

    async def read(self) -> bytes:
        """What the client has sent; waits for some. b"" when it has left."""

    async def send(self, message: Message) -> None:
        """Its ``body`` goes to the client, once the transport has room for it."""

    def close(self) -> None:
        """What has been sent goes out, then the connection is closed."""


Opener = Callable[[Headers], Tunnel]
"""Answers 101 with these headers, and hands the connection over. Raises ClientGone."""


def opener(request: ApiRequest) -> Opener | None:
    """None where the connection can only speak HTTP."""
    extensions = request.scope.get("extensions") or {}
    opener_of_server: Opener | None = extensions.get(TUNNEL)
    return opener_of_server
