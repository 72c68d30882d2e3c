"""Expressions that select devices: what they may say and cost."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.cel.kubernetes import devices
from tests.support.kindtools import create

AT = "spec.devices.requests[0].exactly.selectors[0].cel.expression: "
TOO_COMPLEX = AT + "Forbidden: too complex, exceeds cost limit"


def selected_by(expression: str) -> list[str]:
    selector = {"cel": {"expression": expression}}
    request: dict[str, Any] = {"deviceClassName": "gpu", "selectors": [selector]}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": request}]}},
    }
    return create(claim).messages


BOUND = 'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.fast && gpu.cores > 8)'


def test_a_selector_may_name_a_part_of_the_device() -> None:
    assert selected_by(BOUND) == []
    [message] = selected_by('cel.bind("gpu", device.driver, true)')
    assert "cel.bind() variable names must be simple identifiers" in message
    [message] = selected_by("device.bind(a, 1, true)")
    assert "undeclared reference to 'bind'" in message


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ('device.driver.matches("ab")', 2 + 7),  # 63 bytes
        ('device.attributes["a.example.com"].model.matches("ab")', 4 + 7),  # 64 bytes
        ('device.attributes.all(domain, domain.matches("ab"))', 2 + 32 * (2 + 1 + 1 + 7) + 1),
        ('device.capacity["a.example.com"].all(c, c.matches("ab"))', 3 + 32 * (2 + 1 + 1 + 4) + 1),
        ("device.allowMultipleAllocations == true", 2 + 1),
    ],
)
def test_what_a_selector_is_estimated_to_cost(
    expression: str, cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how large the API lets a device be: at most 32 domains of 63 bytes, with 32 identifiers of
    32 bytes each."""
    monkeypatch.setattr(devices, "SELECTOR_LIMIT", cost)
    assert selected_by(expression) == []
    monkeypatch.setattr(devices, "SELECTOR_LIMIT", cost - 1)
    assert selected_by(expression) == [TOO_COMPLEX]


def test_a_selector_that_may_cost_too_much() -> None:
    ten = str(list(range(10)))
    loops = "".join(f"{ten}.all(x{i}, " for i in range(4))
    body = "device.driver.matches('a*b') && device.driver.matches('c*d')" + ")" * 4
    assert selected_by(loops + body) == []
    assert selected_by(f"{ten}.all(y, {loops}{body})") == [TOO_COMPLEX]
