"""docs/where.md is true: its paths and names are there, and no module is missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "where.md"
PACKAGES = ("apiserver", "admission", "controlplane")
CONSOLE = ROOT / "controlplane/console/static/console"
SCRIPTS = ("access", "admission", "change", "lib", "views")
_PLACE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.\w+)`(?: \(([^()]*)\))?")
_NAME = re.compile(r"`([^`]+)`")
_SCRIPT_NAME = re.compile(
    r"^(?:export )?(?:default )?(?:async )?(?:function\*?|class|const|let) (\w+)", re.M
)
_SCRIPT_CLASS = re.compile(r"^(?:export )?class (\w+)[^\n]*\{\n(.*?)^\}", re.M | re.S)
_SCRIPT_METHOD = re.compile(r"^  (?:static )?(?:async )?\*?(?:get |set )?(\w+)(?:\(| = )", re.M)
_SQL_NAME = re.compile(
    r"^CREATE (?:OR REPLACE )?(?:FUNCTION|TABLE|POLICY|SEQUENCE|INDEX) (\w+)", re.M
)


class Place(NamedTuple):
    """names: those in brackets behind the path."""

    path: str
    names: tuple[str, ...]


def rows(text: str) -> dict[str, list[Place]]:
    """Question → where it is answered."""
    found = {}
    for line in text.splitlines():
        question, sign, answer = line.removeprefix("| ").partition(" | ")
        if line.startswith("| ") and sign and question != "question":
            found[question] = [
                Place(path, tuple(_NAME.findall(names))) for path, names in _PLACE.findall(answer)
            ]
    return found


def places(text: str) -> list[Place]:
    return [place for found in rows(text).values() for place in found]


def absent_paths(text: str) -> list[str]:
    return sorted({path for path, _ in places(text) if not (ROOT / path).is_file()})


def absent_names(text: str) -> list[str]:
    """As ``path: name``; of paths that are there."""
    wanted: dict[str, set[str]] = {}
    for path, names in places(text):
        if names and (ROOT / path).is_file():
            wanted.setdefault(path, set()).update(names)
    return sorted(
        f"{path}: {name}" for path, names in wanted.items() for name in names - defined(ROOT / path)
    )


def defined(path: Path) -> set[str]:
    """What the file defines: ``name``, and ``Class.name``."""
    text = path.read_text()
    if path.suffix == ".py":
        return set(_of_python(ast.parse(text).body))
    if path.suffix == ".js":
        methods = {
            f"{name}.{method}"
            for name, body in _SCRIPT_CLASS.findall(text)
            for method in _SCRIPT_METHOD.findall(body)
        }
        return methods | set(_SCRIPT_NAME.findall(text))
    return set(_SQL_NAME.findall(text)) if path.suffix == ".sql" else set()


def _of_python(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.If):
            yield from _of_python([*node.body, *node.orelse], prefix)
        if isinstance(node, ast.ClassDef):
            yield from _of_python(node.body, f"{prefix}{node.name}.")
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in ast.walk(target))
            yield from (prefix + name.id for name in names if isinstance(name, ast.Name))


def modules() -> set[str]:
    """All that decides something: no migrations, and no ``__init__``."""
    python = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    scripts = (path for folder in SCRIPTS for path in (CONSOLE / folder).rglob("*.js"))
    return {
        path.relative_to(ROOT).as_posix()
        for path in (*python, *scripts)
        if path.name != "__init__.py" and "migrations" not in path.parts
    }


def test_every_path_is_there() -> None:
    assert absent_paths(PAGE.read_text()) == []


def test_every_name_is_defined_in_its_file() -> None:
    assert absent_names(PAGE.read_text()) == []


def test_no_module_is_missing() -> None:
    named = {path for path, _ in places(PAGE.read_text())}
    assert sorted(modules() - named) == [], "name it in the row of the question that it answers"


def test_every_question_stands_once_and_leads_somewhere() -> None:
    text = PAGE.read_text()
    found = rows(text)
    assert [question for question, where in found.items() if not where] == []
    titles = text.count("\n| question | ")
    assert len(found) == sum(line.startswith("| ") for line in text.splitlines()) - titles


def test_what_is_not_there_is_noticed() -> None:
    views = "controlplane/console/static/console/views"
    text = (
        "| question | is answered in |\n|---|---|\n"
        "| a file | `apiserver/gone.py` (`gone`), `apiserver/user.py` (`User.name`: so; `Gone`) |\n"
        f"| a page | `{views}/list.js` (`List`, `List.sortBy`, `List.gone`), `docs/gone.md` |\n"
        "| a function | `apiserver/storage/sql/commit.sql` (`pp_commit`, `pp_gone`) |\n"
        "| nothing | in `User.name` |\n"
    )
    assert absent_paths(text) == ["apiserver/gone.py", "docs/gone.md"]
    assert absent_names(text) == [
        "apiserver/storage/sql/commit.sql: pp_gone",
        "apiserver/user.py: Gone",
        f"{views}/list.js: List.gone",
    ]
    assert [question for question, where in rows(text).items() if not where] == ["nothing"]
    assert {"apiserver/user.py", f"{views}/list.js"} <= modules()
