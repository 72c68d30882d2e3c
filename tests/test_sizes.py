"""What one can read at a glance stays so: no long function, no long file (docs/where.md says what
is where; a part that has a name of its own is a function of its own)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("apiserver", "admission", "controlplane", "tools")
ALL = (*PRODUCT, "tests")
MOST_OF_FUNCTION = 40
"""Lines from ``def`` to the end, signature and docstring included."""
MOST_OF_FILE = 450
MOST_OF_LINE = 100
"""Columns. Ruff holds Python to it."""


def _files(*packages: str) -> Iterator[Path]:
    for package in packages:
        yield from sorted((ROOT / package).rglob("*.py"))


def _long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > MOST_OF_FUNCTION:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines"


def test_no_function_of_the_product_is_long() -> None:
    long = [line for path in _files(*PRODUCT) for line in _long_functions(path)]
    assert not long, "split where a part has a name of its own"


def test_no_line_of_what_ruff_does_not_read_is_long() -> None:
    texts = [ROOT / "Makefile", *(ROOT / ".ci").iterdir(), *(ROOT / "fixtures").rglob("*.yaml")]
    texts += [
        p for package in ALL for end in ("sql", "sh") for p in (ROOT / package).rglob(f"*.{end}")
    ]
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in texts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line.expandtabs(4)) > MOST_OF_LINE
    ]
    assert not long, "break it where a clause ends"


def test_no_file_is_long() -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in _files(*ALL)}
    long = {name: lines for name, lines in lengths.items() if lines > MOST_OF_FILE}
    assert not long, "split along its subjects"
