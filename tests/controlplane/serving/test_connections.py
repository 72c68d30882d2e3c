from __future__ import annotations

import pytest

from controlplane.serving.connections import Connections, Seat, client_address
from controlplane.serving.limits import Limits


class Talk:
    """A conversation whose state a test sets."""

    def __init__(self, patience: tuple[bool, float] | None, late: float = 1e9) -> None:
        self._patience, self._late = patience, late

    def overdue(self, now: float) -> bool:
        return now > self._late

    def patience(self) -> tuple[bool, float] | None:
        return self._patience


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def sit(connections: Connections, host: str, talk: Talk | None, ended: list[Seat]) -> Seat:
    seat = connections.admit(host)
    assert seat is not None
    seat.conversation, seat.end = talk, lambda: ended.append(seat)
    return seat


def test_whoever_never_got_an_answer_makes_room_first_then_who_waits_longest() -> None:
    connections, ended = Connections(Limits(connections=4, per_address=4)), []
    sit(connections, "10.0.0.1", Talk(None), ended)
    old = sit(connections, "10.0.0.2", Talk((True, 1.0)), ended)
    new = sit(connections, "10.0.0.3", Talk((True, 2.0)), ended)
    silent = sit(connections, "10.0.0.4", None, ended)
    for expected in (silent, old, new):
        sit(connections, "10.0.0.5", Talk(None), ended)
        assert ended.pop() is expected and not ended
    assert connections.admit("10.0.0.6") is None, "everybody is at work"
    assert len(connections) == 4


def test_one_address_pushes_out_its_own() -> None:
    connections, ended = Connections(Limits(connections=100, per_address=3)), []
    other = sit(connections, "10.0.0.1", None, ended)
    own = [sit(connections, "2001:db8::1", None, ended) for _ in range(3)]
    sit(connections, "2001:db8::ffff:1", Talk(None), ended)
    assert len(ended) == 1 and ended[0] in own and other not in ended


def test_a_place_is_given_back_once() -> None:
    connections, ended = Connections(Limits(connections=2, per_address=1)), []
    seat = sit(connections, "10.0.0.1", Talk(None), ended)
    assert connections.admit("10.0.0.1") is None
    connections.leave(seat)
    connections.leave(seat)
    assert len(connections) == 0
    sit(connections, "10.0.0.1", Talk(None), ended)


def test_nobody_gets_less_than_his_time() -> None:
    clock, ended = Clock(), []
    connections = Connections(Limits(handshake=10), clock)
    clock.now = 104.9  # the place is taken now, and noted as of the last sweep
    silent = sit(connections, "10.0.0.1", None, ended)
    for clock.now in (105, 110.0, 114.8):
        connections.sweep()
    assert not ended
    for clock.now in (116.0, 117.0):
        connections.sweep()
    assert ended == [silent] and len(connections) == 0


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_addresses_of_one_client_count_together(host: str, address: str) -> None:
    assert client_address(host) == address


def test_descriptors_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_CONNECTIONS", "MAX_CONNECTIONS_PER_ADDRESS"):
        monkeypatch.delenv(f"POLYPLANE_{name}", raising=False)
    assert (Limits.from_environment(300).connections, Limits.from_environment(300).per_address) == (
        150,
        75,
    )
    assert Limits.from_environment(1 << 20).connections == 20_000
    monkeypatch.setenv("POLYPLANE_MAX_CONNECTIONS", "50")
    assert Limits.from_environment(1 << 20).connections == 50
