"""Which encoding it is, is asked in one place: `encodings.BY_MEDIA_TYPE`. A type of a patch
likewise, in `patchtypes.BY_MEDIA_TYPE`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver.codec import negotiate
from apiserver.endpoints import encodings
from apiserver.registry import patchtypes

ROOT = Path(__file__).resolve().parents[4]
_ITS_PLACES = ("apiserver/endpoints/encodings/", "apiserver/codec/negotiate.py")
_NAMES = {name for name, value in vars(negotiate).items() if isinstance(value, str | tuple)}


def sources() -> Iterator[Path]:
    for package in ("apiserver/endpoints", "apiserver/registry", "apiserver/codec"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if not str(path.relative_to(ROOT)).startswith(_ITS_PLACES):
                yield path


def ladders(source: str) -> Iterator[int]:
    """Lines that compare a media type with something, or match on one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            compared = [node.subject]
        else:
            continue
        if any(_is_media_type(expression) for expression in compared):
            yield node.lineno


def _is_media_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        of_negotiate = isinstance(node.value, ast.Name) and node.value.id == "negotiate"
        return node.attr == "media_type" or (of_negotiate and node.attr in _NAMES)
    if isinstance(node, ast.Name):
        return node.id == "media_type"
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith("application/")
    return False


def test_nobody_else_compares_media_types() -> None:
    found = [f"{p.relative_to(ROOT)}:{line}" for p in sources() for line in ladders(p.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "if kind.media_type == negotiate.JSON: pass",
        "x = 1 if encoding != negotiate.YAML else 2",
        "is_apply = media_type in negotiate.BUILTIN_PATCHES",
        "if content_type == 'application/json': pass",
        "match kind.media_type:\n  case 'x': pass",
    ],
)
def test_a_ladder_is_noticed(source: str) -> None:
    assert list(ladders(source)) == [1]


def test_every_media_type_has_its_object() -> None:
    assert set(encodings.BY_MEDIA_TYPE) == set(negotiate.ALL)
    assert set(patchtypes.BY_MEDIA_TYPE) == set(negotiate.BUILTIN_PATCHES)
    assert {m for m, e in encodings.BY_MEDIA_TYPE.items() if e.stored} == {negotiate.JSON}
