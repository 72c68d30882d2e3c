"""Which ranges a tenant can do without: those whose addresses in use other ranges contain, too.

Pure. Networks are counted by their prefix, so that an answer takes a look-up for each length of
prefix and not one for each other network. What another network contains as a whole is answered
without a look at addresses, and networks that none contains do not overlap: so all of them together
look at each address once, or as often as ranges lie within each other that go one after the other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator

from apiserver.kinds.common.addresses import Network
from apiserver.kinds.formats import parse_ip

Prefix = tuple[int, int, int]
"""IP version, length, and the first ``length`` bits as a number."""


class Cover:
    """The ranges that are counted, and the addresses in use (as Services claim them)."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses: dict[int, list[int]] = {4: [], 6: []}
        for text in addresses:
            if (address := parse_ip(text)) is not None:
                self._addresses[address.version].append(int(address))
        for numbers in self._addresses.values():
            numbers.sort()
        self._prefixes: Counter[Prefix] = Counter()
        self._lengths: Counter[tuple[int, int]] = Counter()

    def add(self, networks: Iterable[Network]) -> None:
        for network in networks:
            self._prefixes[_prefix(network)] += 1
            self._lengths[network.version, network.prefixlen] += 1

    def remove(self, networks: Iterable[Network]) -> None:
        for network in networks:
            self._prefixes[_prefix(network)] -= 1
            self._lengths[network.version, network.prefixlen] -= 1

    def lacks(self, networks: Iterable[Network]) -> bool:
        """Whether an address in use is in ``networks``, and in none of those that are counted."""
        return any(
            not self._contains(network.version, address, network.max_prefixlen)
            for network in networks
            if not self._contains(network.version, int(network.network_address), network.prefixlen)
            for address in self._within(network)
        )

    def _contains(self, version: int, first: int, length: int) -> bool:
        """Whether a network contains the one that begins there and has that length."""
        bits = 32 if version == 4 else 128
        return any(
            self._prefixes[version, shorter, first >> (bits - shorter)]
            for (of, shorter), count in self._lengths.items()
            if of == version and count and shorter <= length
        )

    def _within(self, network: Network) -> Iterator[int]:
        numbers = self._addresses[network.version]
        end = bisect_right(numbers, int(network.broadcast_address))
        for i in range(bisect_left(numbers, int(network.network_address)), end):
            yield numbers[i]


def _prefix(network: Network) -> Prefix:
    length = network.prefixlen
    return network.version, length, int(network.network_address) >> (network.max_prefixlen - length)
