"""The walks in docs/architecture.md name stations that are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
_STATION = re.compile(r"`((?:apiserver|admission|controlplane)(?:\.\w+)+)`")


def walks() -> dict[str, list[str]]:
    """Title → stations."""
    _, _, rest = PAGE.read_text().partition("\n## Walks\n")
    section = rest.partition("\n## ")[0]
    _, *parts = section.split("\n### ")
    return {part.partition("\n")[0]: _STATION.findall(part) for part in parts}


def resolve(station: str) -> object:
    """Raises ImportError, AttributeError."""
    names = station.split(".")
    for at in range(len(names), 0, -1):
        try:
            found: object = importlib.import_module(".".join(names[:at]))
        except ModuleNotFoundError as error:
            if error.name is None or not station.startswith(error.name):
                raise
            continue
        for name in names[at:]:
            found = getattr(found, name)
        return found
    raise ImportError(station)


def test_there_are_seven_walks_beside_what_they_share() -> None:
    assert [title.split()[0] for title in walks()] == [
        "The",
        "POST",
        "Apply",
        "GET",
        "LIST",
        "A",
        "DELETE",
        "A",
    ]
    assert all(len(stations) >= 4 for stations in walks().values())


@pytest.mark.parametrize(
    "station", sorted({station for stations in walks().values() for station in stations})
)
def test_a_station_is_there(station: str) -> None:
    assert resolve(station) is not None


@pytest.mark.parametrize("station", ["apiserver.registry.nowhere.f", "apiserver.registry.write.f"])
def test_one_that_is_not_there_is_noticed(station: str) -> None:
    with pytest.raises((ImportError, AttributeError)):
        resolve(station)
