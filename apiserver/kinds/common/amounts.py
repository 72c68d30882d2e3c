"""Amounts of resources as defaulting leaves them: rounded up to thousandths (k8s.io/kubernetes
``apis/core/v1/defaults.go``, SetDefaults_ResourceList, and where its generated callers lead)."""

from __future__ import annotations

from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity, parse_quantity


def round_up(amounts: dict[str, str] | None) -> None:
    """In place, if they are there."""
    if amounts:
        amounts |= {name: _at_least_milli(value) for name, value in amounts.items()}


def round_members(obj: Object | None, *members: str) -> None:
    """The lists of amounts that are members of an object, if it is there."""
    for member in members:
        round_up((obj or {}).get(member))


def round_requirements(requirements: Object | None) -> None:
    round_members(requirements, "limits", "requests")


def _at_least_milli(value: str) -> str:
    quantity = parse_quantity(value)
    if (
        quantity.exponent >= -3
        or quantity.scaled(-3) * 10 ** (-3 - quantity.exponent) == quantity.unscaled
    ):
        return value
    return str(Quantity(quantity.scaled(-3), -3, quantity.format))
