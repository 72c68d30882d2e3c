"""What stands at the top of a module is used by the product: in its module, or by another that
imports it.

`make deadcode` asks whether a word occurs anywhere; here it has to be that module's name, so
``validate`` of one module does not pass for that of a hundred others. What is decorated has been
registered with somebody, and what Django looks for by name stands in its own modules
(tests/test_doors.py).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.test_doors import PACKAGES, ROOT

FOUND_BY_NAME = ("settings", "urls", "apps", "formats", "models")
"""Modules that Django reads."""
BARE = {"cache", "lru_cache", "dataclass", "value", "contextmanager", "total_ordering"}
"""Decorators that register nothing."""
FOR_TESTS = {
    # what the official conformance data of CEL asks for: expressions without a check, all strings
    "apiserver.cel.library.strings.STRINGS",
    "apiserver.cel.plan.program.compile_unchecked",
    # what the newest migration has to have written down
    "apiserver.storage.sql.digest",
}


def _trees() -> dict[str, ast.Module]:
    """By the dotted names of the modules."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text())
    return found


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        words = {ast.unparse(d).split("(")[0].split(".")[-1] for d in node.decorator_list}
        return [node.name] if words <= BARE else []
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        return [name for name in names if name != "__all__"]
    return []


def _taken(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Dotted names that a module has from another: by an import, through one, or in a string."""
    for tree in trees.values():
        modules: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield (path := f"{node.module}.{alias.name}")
                    if path in trees:
                        modules[alias.asname or alias.name] = path
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield f"{modules.get(node.value.id)}.{node.attr}"


def _words(node: ast.AST) -> Counter[str]:
    return Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _unused(trees: dict[str, ast.Module]) -> set[str]:
    taken = set(_taken(trees))
    return {
        f"{module}.{name}"
        for module, tree in trees.items()
        for words in [_words(tree)]
        for definition in tree.body
        for name in _defined(definition)
        if words[name] <= _words(definition)[name] and f"{module}.{name}" not in taken
    }


def _is_looked_up(name: str) -> bool:
    """By Django, or by the script that pip makes."""
    module, _, last = name.rpartition(".")
    return (
        module.rpartition(".")[2] in FOUND_BY_NAME
        or ".migrations." in name
        or (".management.commands." in name and last == "Command")
        or name == "controlplane.kubectl.command.main"
    )


def test_no_name_at_the_top_of_a_module_is_unused() -> None:
    unused = {name for name in _unused(_trees()) if not _is_looked_up(name)}
    assert unused - FOR_TESTS == set(), "use it, or remove it with its tests"
    assert unused >= FOR_TESTS, "used by now: take it off the list"


def test_a_name_that_only_its_namesakes_use_is_noticed() -> None:
    one = (
        "def check(): check()\ndef used(): LIMIT\nLIMIT = 1\nSPARE = 2\n@register\ndef kept(): 0\n"
    )
    two = "from a.one import used\nfrom a import one\ndef check(): one.LIMIT\ncheck()\n"
    trees = {"a": ast.parse(""), "a.one": ast.parse(one), "a.two": ast.parse(two)}
    assert _unused(trees) == {"a.one.check", "a.one.SPARE"}
