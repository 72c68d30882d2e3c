"""Which ranges a tenant can do without."""

from __future__ import annotations

import random
from collections.abc import Callable
from ipaddress import ip_address, ip_network

import pytest

from apiserver.controllers.rangecover import Cover
from apiserver.kinds.common.addresses import Network
from tests.support.growth import assert_linear


def networks(*texts: str) -> list[Network]:
    return [ip_network(text) for text in texts]


def cover(addresses: list[str], *others: str) -> Cover:
    made = Cover(addresses)
    made.add(networks(*others))
    return made


@pytest.mark.parametrize(
    ("own", "addresses", "others", "lacks"),
    [
        ("10.0.0.0/24", [], [], False),
        ("10.0.0.0/24", ["10.0.0.0"], [], True),
        ("10.0.0.0/24", ["10.0.0.255"], [], True),
        ("10.0.0.0/24", ["10.0.1.0", "9.255.255.255"], [], False),
        ("10.0.0.0/24", ["10.0.0.9"], ["10.0.0.0/24"], False),
        ("10.0.0.0/24", ["10.0.0.9"], ["10.0.0.0/8"], False),
        ("10.0.0.0/24", ["10.0.0.9"], ["0.0.0.0/0"], False),
        ("10.0.0.0/24", ["10.0.0.9"], ["10.0.0.8/29"], False),
        ("10.0.0.0/24", ["10.0.0.9", "10.0.0.99"], ["10.0.0.8/29"], True),
        ("10.0.0.0/24", ["10.0.0.9", "10.0.0.99"], ["10.0.0.0/25", "10.0.0.128/25"], False),
        ("10.0.0.0/24", ["10.0.0.9"], ["fd00::/8"], True),
        ("fd00::/64", ["fd00::1", "10.0.0.9"], ["10.0.0.0/8"], True),
        ("fd00::/64", ["fd00::1"], ["fd00::/112"], False),
    ],
)
def test_an_address_that_no_other_contains(
    own: str, addresses: list[str], others: list[str], lacks: bool
) -> None:
    assert cover(addresses, *others).lacks(networks(own)) is lacks


def test_of_two_that_contain_each_other_one_may_go() -> None:
    twice = cover(["10.0.0.9"], "10.0.0.0/24", "10.0.0.0/24")
    twice.remove(networks("10.0.0.0/24"))
    assert not twice.lacks(networks("10.0.0.0/24"))
    twice.remove(networks("10.0.0.0/24"))
    assert twice.lacks(networks("10.0.0.0/24"))


def test_it_is_what_a_look_at_each_pair_finds() -> None:
    chance = random.Random(7)
    for _ in range(300):
        addresses = [f"10.0.0.{chance.randrange(64)}" for _ in range(chance.randrange(6))]
        pool = [some(chance) for _ in range(chance.randrange(1, 6))]
        own, others = pool[0], pool[1:]
        made = Cover(addresses)
        made.add(others)
        plain = any(
            ip_address(a) in own and not any(ip_address(a) in other for other in others)
            for a in addresses
        )
        assert made.lacks([own]) is plain, (own, others, addresses)


def some(chance: random.Random) -> Network:
    length = chance.randrange(25, 33)
    return ip_network((0x0A000000 + chance.randrange(64), length), strict=False)


def all_judged(cidr: Callable[[int], str], *, kept: bool) -> Callable[[int], Callable[[], None]]:
    """Each range goes where it may, one after the other; addresses all over them are in use. kept:
    whether all stay, or the last one alone."""

    def make(count: int) -> Callable[[], None]:
        addresses = [str(ip_address(0x0A000000 + i * 4 + 1)) for i in range(count)]
        ranges = [networks(cidr(i)) for i in range(count)]

        def work() -> None:
            made = Cover(addresses)
            for own in ranges:
                made.add(own)
            left = count
            for own in ranges:
                made.remove(own)
                if made.lacks(own):
                    made.add(own)
                else:
                    left -= 1
            assert left == (count if kept else 1)

        return work

    return make


@pytest.mark.parametrize(
    ("cidr", "kept"),
    [
        (lambda i: "10.0.0.0/10", False),
        (lambda i: f"{ip_address(0x0A000000 + i * 4)}/30", True),
        (lambda i: f"10.0.0.0/{12 + i % 18}", False),
    ],
    ids=["alike", "apart", "within each other"],
)
def test_work_grows_with_the_ranges_and_not_with_their_square(
    cidr: Callable[[int], str], kept: bool
) -> None:
    assert_linear(all_judged(cidr, kept=kept), 2000)
