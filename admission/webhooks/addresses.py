"""Which addresses webhooks may have: whoever may write a definition or a webhook configuration
makes this server call any URL.

What is never a webhook is refused by default: link-local addresses, where clouds answer with
credentials, their other metadata addresses, multicast and broadcast. Loopback is a decision of the
operator. A name is resolved once, its addresses are judged, and only what has been judged is
connected to, so that a name cannot be one address when it is looked at and another when it is
called.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
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
    "64:ff9b:1::/48",  # translation inside one network: any part may be an IPv4 address (RFC 8215)
    "100::/63",  # discarded, dummy
    "2001:2::/48",  # benchmarks
    "5f00::/16",  # segment routing, inside one network
    "fd00:42::42/128",  # Scaleway
    "fd00:c1::/32",  # Oracle Cloud
    "fd00:ec2::/32",  # AWS
    "fd20:ce::/64",  # Google Cloud
    "fe80::/10",
    "fec0::/10",  # site-local, deprecated
    "ff00::/8",
)
"""Of the IPv6 addresses for special purposes (IANA's registry) those that no webhook has. Unique
local ones (fc00::/7) are as private as 10.0.0.0/8, and let through as that is."""
_EMBEDDING = tuple(
    ipaddress.IPv6Network(text)
    for text in (
        "::/96",  # IPv4-compatible
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
    )
)
_LOW_32 = 0xFFFFFFFF
_ISATAP = (0x00005EFE, 0x02005EFE)
_NO_IPV4 = (0, 1)
""":: and ::1 lie among the IPv4-compatible addresses and are none."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Raises ValueError."""
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """allowed: what is let through although it is denied; loopback: whether 127.0.0.0/8 and ::1 are
    let through."""

    denied: tuple[Network, ...] = networks(DENIED)
    allowed: tuple[Network, ...] = ()
    loopback: bool = True

    def permits(self, text: str) -> bool:
        """``text``: an IP address, perhaps with a zone. What stands for several addresses is let
        through if each of them is."""
        return all(map(self._permits, _meanings(ipaddress.ip_address(text.partition("%")[0]))))

    def _permits(self, address: Address) -> bool:
        if any(address in network for network in self.allowed):
            return True
        if address.is_loopback:
            return self.loopback
        return not any(address in network for network in self.denied)


def _meanings(address: Address) -> Iterator[Address]:
    """The address, and IPv4 addresses that routers and translators may take it for; a mapped one is
    that IPv4 address and no other."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
        return
    yield address
    number = int(address)
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo  # the server, and the client behind it
    compatible = number not in _NO_IPV4 and any(address in network for network in _EMBEDDING)
    if compatible or number >> 32 & _LOW_32 in _ISATAP:
        yield ipaddress.IPv4Address(number & _LOW_32)


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
