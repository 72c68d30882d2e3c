"""The address at which others find this server (kube-apiserver's --advertise-address)."""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import IPv4Address

from controlplane import environment
from controlplane.errors import OperatorError

_ELSEWHERE = ("192.0.2.1", 9)
"""A documentation address (RFC 5737): which way would packets to the world take?"""


def advertised_address() -> str:
    """POLYPLANE_ADVERTISE_ADDRESS, or POLYPLANE_BIND if it is an IPv4 address that others can use,
    or the one that this machine has towards the world; "" where there is none. Raises
    OperatorError."""
    if text := environment.text("ADVERTISE_ADDRESS"):
        if not _usable(text):
            raise OperatorError(
                f"POLYPLANE_ADVERTISE_ADDRESS={text!r} is no IPv4 address that others could use.",
                "set it to an address of this machine, neither 127.0.0.0/8 nor 169.254.0.0/16.",
            )
        return text
    bound = environment.text("BIND")
    return bound if _usable(bound) else _outward()


def _usable(text: str) -> bool:
    """What may stand in Endpoints, which name no loopback or link-local addresses."""
    with suppress(ValueError):
        a = IPv4Address(text)
        return not (a.is_loopback or a.is_link_local or a.is_unspecified or a.is_multicast)
    return False


def _outward() -> str:
    """Nothing is sent for this."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(_ELSEWHERE)
        address = str(probe.getsockname()[0])
        return address if _usable(address) else ""
    return ""
