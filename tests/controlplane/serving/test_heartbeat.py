from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from controlplane.serving.heartbeat import Heartbeat, Pulse


@pytest.fixture
def ends() -> Iterator[tuple[Pulse, Heartbeat]]:
    pulse, fd = Pulse.pipe()
    pulse._looked = 0.0
    yield pulse, Heartbeat(fd)
    pulse.close()
    os.close(fd)


def test_silence_is_counted_from_the_last_beat(ends: tuple[Pulse, Heartbeat]) -> None:
    pulse, heart = ends
    assert not pulse.beating
    heart.beat()
    assert pulse.look(0.2, 0.0) == 0 and pulse.beating
    assert [pulse.look(now, 0.0) for now in (0.5, 1.0)] == pytest.approx([0.3, 0.8])
    heart.beat()
    assert pulse.look(1.2, 0.0) == 0


def test_a_stall_of_the_whole_machine_is_no_silence(ends: tuple[Pulse, Heartbeat]) -> None:
    """A laptop that slept for an hour: the supervisor did not look either."""
    pulse, _ = ends
    assert pulse.look(3600.0, 0.0) == 1.0


def test_waiting_for_a_processor_is_no_silence(ends: tuple[Pulse, Heartbeat]) -> None:
    pulse, _ = ends
    assert [pulse.look(0.5 * i, 0.4 * i) for i in range(1, 5)] == pytest.approx(
        [0.1, 0.2, 0.3, 0.4]
    )


def test_a_full_pipe_does_not_block(ends: tuple[Pulse, Heartbeat]) -> None:
    pulse, heart = ends
    for _ in range(100_000):
        heart.beat()
    assert pulse.look(1.0, 0.0) == 0


def test_without_a_supervisor_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYPLANE_HEARTBEAT_FD", raising=False)
    heartbeat = Heartbeat.inherited()
    assert heartbeat == Heartbeat(fd=-1)
    monkeypatch.setattr("os.write", lambda *_: pytest.fail("somebody was told"))
    heartbeat.beat()
