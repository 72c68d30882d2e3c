"""Which addresses webhooks may have: whoever may write a definition or a webhook configuration makes this server call any URL.

What is never a webhook is refused by default: link-local addresses, where clouds answer with credentials, their other metadata
addresses, multicast and broadcast. Loopback is a decision of the operator. A name is resolved once, its addresses are judged, and only
what has been judged is connected to, so that a name cannot be one address when it is looked at and another when it is called.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

DENIED = (
    "0.0.0.0/8",
    "100.100.100.200/32",  # Alibaba Cloud
    "168.63.129.16/32",  # Azure
    "169.254.0.0/16",
    "192.0.0.192/32",  # Oracle Cloud
    "224.0.0.0/3",
    "::/128",
    "fd00:ec2::/32",  # AWS
    "fe80::/10",
    "ff00::/8",
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Raises ValueError."""
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """allowed: what is let through although it is denied; loopback: whether 127.0.0.0/8 and ::1 are let through."""

    denied: tuple[Network, ...] = networks(DENIED)
    allowed: tuple[Network, ...] = ()
    loopback: bool = True

    def permits(self, text: str) -> bool:
        """``text``: an IP address, perhaps with a zone."""
        address = _plain(ipaddress.ip_address(text.partition("%")[0]))
        if any(address in network for network in self.allowed):
            return True
        if address.is_loopback:
            return self.loopback
        return not any(address in network for network in self.denied)


def _plain(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
