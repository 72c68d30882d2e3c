"""Where others find this server."""

from __future__ import annotations

import pytest

from controlplane import advertised
from controlplane.advertised import advertised_address
from controlplane.errors import OperatorError


def test_the_setting_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_BIND", "198.51.100.2")
    monkeypatch.setenv("POLYPLANE_ADVERTISE_ADDRESS", "198.51.100.7")
    assert advertised_address() == "198.51.100.7"


@pytest.mark.parametrize("text", ["127.0.0.1", "169.254.1.1", "0.0.0.0", "::1", "host", "1.2.3"])
def test_what_nobody_could_use_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_ADVERTISE_ADDRESS", text)
    with pytest.raises(OperatorError, match="ADVERTISE_ADDRESS"):
        advertised_address()


@pytest.mark.parametrize(
    ("bound", "expected"),
    [("198.51.100.2", "198.51.100.2"), ("127.0.0.1", "192.0.2.9"), ("0.0.0.0", "192.0.2.9")],
)
def test_else_the_address_that_it_listens_on_or_has_towards_the_world(
    bound: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLYPLANE_ADVERTISE_ADDRESS", raising=False)
    monkeypatch.setenv("POLYPLANE_BIND", bound)
    monkeypatch.setattr(advertised, "_outward", lambda: "192.0.2.9")
    assert advertised_address() == expected


def test_a_machine_without_a_way_out_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoWay:
        def __init__(self, *family: int) -> None:
            raise OSError("network is unreachable")

    monkeypatch.delenv("POLYPLANE_ADVERTISE_ADDRESS", raising=False)
    monkeypatch.setattr(advertised.socket, "socket", NoWay)
    assert advertised_address() == ""
