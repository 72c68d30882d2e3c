"""Nothing is finished and uncalled: every module is reached by imports from where a process begins.

What Python imports by itself is in the graph of imports (grimp, of which import-linter is made);
what Django loads by a string counts when the string stands in settings.py, or when it is a name
that every app is asked for. (Names within modules: `make deadcode`. Plugins:
tests/admission/test_order.py.)
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import grimp
from django.apps import apps

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("apiserver", "admission", "controlplane")
COMMANDS = "controlplane.management.commands."
ASKED_OF_APPS = ("apps", "models", "admin", "migrations")
"""Modules that Django looks for in each of INSTALLED_APPS."""


def _named_in_settings(modules: set[str]) -> set[str]:
    """Modules that a string of settings.py names, by themselves or by something in them."""
    tree = ast.parse((ROOT / "controlplane/settings.py").read_text())
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            path = node.value
            named |= {path, path.rpartition(".")[0]} & modules
            if path in modules:  # FORMAT_MODULE_PATH: a package with one module per language
                named |= {m for m in modules if re.fullmatch(rf"{path}\.\w+\.formats", m)}
    return named


def _asked_of_apps(modules: set[str]) -> set[str]:
    prefixes = [f"{app.name}.{name}" for app in apps.get_app_configs() for name in ASKED_OF_APPS]
    return {m for m in modules for p in prefixes if m == p or m.startswith(f"{p}.")}


def _entry_points(modules: set[str]) -> set[str]:
    script = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    return (
        {"controlplane.settings", "controlplane.__main__"}
        | {target.partition(":")[0] for target in script.values()}
        | {m for m in modules if m.startswith(COMMANDS)}
        | _named_in_settings(modules)
        | _asked_of_apps(modules)
    )


def _reached(graph: grimp.ImportGraph, entries: set[str]) -> set[str]:
    """What is imported from there on; a module brings the packages that it lies in."""
    reached: set[str] = set()
    ahead = set(entries)
    while ahead:
        module = ahead.pop()
        reached.add(module)
        package = module.rpartition(".")[0]
        below = graph.find_modules_directly_imported_by(module) | ({package} if package else set())
        ahead |= below - reached
    return reached


def test_every_module_has_a_door() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    closed = graph.modules - _reached(graph, _entry_points(graph.modules))
    assert not closed, "modules that no process imports: call them, or remove them"


def test_every_tool_is_named_where_people_look_for_it() -> None:
    places = [ROOT / "Makefile", *(ROOT / ".ci").iterdir(), *ROOT.glob("*.md")]
    text = "".join(path.read_text() for path in [*places, *ROOT.glob("docs/**/*.md")])
    tools = {path.stem: path.read_text() for path in (ROOT / "tools").rglob("*.py")}
    assert tools
    for name in tools:
        others = "".join(source for other, source in tools.items() if other != name)
        assert re.search(rf"tools[./]{name}\b", text) or re.search(
            rf"(from|import) tools(\.\w+)*[. ](import )?{name}\b", others
        ), f"tools/{name}.py"
