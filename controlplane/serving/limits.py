"""What one worker allows its clients, from the environment (names: docs/operations.md)."""

from __future__ import annotations

import resource
from dataclasses import dataclass

from controlplane import environment

_RESERVE = 256
"""Descriptors that connections leave to the database, webhooks, files, and to accepting one more
connection in order to refuse it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """connections: open at once, and of these per_address from one client address; the rest in
    seconds.

    head: from a request's first byte to its last header, and from a TCP connection to its first
    request; Go's servers of Kubernetes take
    32. body_pause: in which nothing of a body comes; body: for all of it, as for a whole request of
        kube-apiserver (--request-timeout).
    keep_alive: between requests; above the 90 for which Go's clients keep an idle connection, so
    that they close first. stall: in which a
    client takes nothing of what is sent to it.
    """

    connections: int = 20_000
    per_address: int = 10_000
    handshake: float = 10.0
    head: float = 30.0
    body_pause: float = 30.0
    body: float = 60.0
    keep_alive: float = 120.0
    stall: float = 60.0

    @classmethod
    def from_environment(cls, descriptors: int) -> Limits:
        """``descriptors``: that this process may open. Raises OperatorError."""
        most = max(descriptors - min(_RESERVE, descriptors // 2), 1)
        connections = min(environment.number("MAX_CONNECTIONS", 20_000, least=1), most)
        per_address = environment.number("MAX_CONNECTIONS_PER_ADDRESS", 0) or max(
            connections // 2, 1
        )
        head = float(environment.number("HEADER_TIMEOUT_SECONDS", 30, least=1))
        pause = float(environment.number("BODY_TIMEOUT_SECONDS", 30, least=1))
        return cls(
            connections,
            min(per_address, connections),
            handshake=min(10.0, head),
            head=head,
            body_pause=pause,
            body=2 * pause,
            keep_alive=float(environment.number("KEEP_ALIVE_SECONDS", 120, least=1)),
            stall=float(environment.number("STALL_SECONDS", 60, least=1)),
        )


def raise_descriptor_limit() -> int:
    """Lets this process open as many files as the system allows it; how many these are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, 1 << 20)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
