"""The walks in docs/architecture.md name stations that are there, and the packages' docstrings
modules."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
_NAMED = re.compile(r"(?<!`)`([a-z]\w*)(?:\.(\w+))*`(?!`)")
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


def guides() -> dict[str, str]:
    """Package → its docstring, of those that say what is in it."""
    paths = [
        p for top in ("apiserver", "admission", "controlplane") for p in ROOT.glob(f"{top}/**")
    ]
    sources = {p: (p / "__init__.py").read_text() for p in paths if (p / "__init__.py").exists()}
    documented = {p: ast.get_docstring(ast.parse(source)) for p, source in sources.items()}
    return {str(p.relative_to(ROOT)): text for p, text in documented.items() if text}


@pytest.mark.parametrize("package", sorted(guides()))
def test_a_guide_names_modules_that_are_there(package: str) -> None:
    below = {path.stem for path in (ROOT / package).rglob("*.py")}
    below |= {path.parent.name for path in (ROOT / package).rglob("__init__.py")}
    named = {match[1] for match in _NAMED.finditer(guides()[package])}
    assert named - below - {"apiserver", "admission", "controlplane"} == set()
