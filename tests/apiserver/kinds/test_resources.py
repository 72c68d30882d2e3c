"""Built-in and custom resources stand behind one interface: nobody asks which one it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.builtin import BuiltinResource

ROOT = Path(__file__).parents[3]
_CLASSES = {BuiltinResource.__name__, CustomResource.__name__}


def questions(source: str) -> Iterator[str]:
    """Where a module asks what a resource is, instead of what it wants to know."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr == "custom" and _is_resource(node.value):
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "type"):
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if names & _CLASSES:
                yield f"{node.lineno}: {ast.unparse(node)}"


def _is_resource(value: ast.expr) -> bool:
    """``r``, ``resource``, ``scope.resource`` ..."""
    return ast.unparse(value).rpartition(".")[2] in ("r", "resource")


@pytest.mark.parametrize("package", ["apiserver", "admission", "controlplane"])
def test_nobody_asks_whether_a_resource_is_custom(package: str) -> None:
    asked = [
        f"{path.relative_to(ROOT)}:{question}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for question in questions(path.read_text())
    ]
    assert asked == []


@pytest.mark.parametrize(
    "source", ["if scope.resource.custom: pass", "isinstance(resource, CustomResource)"]
)
def test_questions_are_noticed(source: str) -> None:
    assert list(questions(source))
