"""No test that cannot fail: each asserts something, by itself or through what it calls, and not
only in a loop that may have no turns.

Calls are followed by their names, through all of the tests: what is missed this way is a test that
calls a helper of the same name as one that asserts. What nothing here can see is an assertion that
is true of anything: see each test fail once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
RAISES = {"raises", "warns", "fail", "check_returncode"}
"""Methods of pytest and subprocess that fail a test."""

ASSERT_NOTHING = {
    "test_schedules": "check_schedule raises of a schedule that is none",
    "test_the_models_are_those_of_the_migrations": "makemigrations ends the process",
    "test_nobody_hears_of_pythons_limit": "int() raises ValueError",
}
MAY_HAVE_NO_TURNS = {
    "test_never_more_than_the_hard_limit_is_charged": "Hypothesis makes the list",
    "test_after_force_nobody_shares_a_leaf_that_the_intent_changed": "Hypothesis makes the sets",
    "test_nobody_gains_rights_by_writing_roles_and_bindings": "Hypothesis makes the attempts",
    "test_recorded_policies": "a recording in which no policy is written says nothing of its text",
}


def name_of(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def called(node: ast.AST) -> Iterator[str]:
    return (name_of(n) for n in ast.walk(node) if isinstance(n, ast.Call))


def fails(node: ast.AST) -> bool:
    """Whether the node alone, and nothing in it, fails a test."""
    if isinstance(node, ast.keyword):  # subprocess.run
        return (
            node.arg == "check" and isinstance(node.value, ast.Constant) and bool(node.value.value)
        )
    return isinstance(node, ast.Assert | ast.Raise) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in RAISES
    )


def asserts(node: ast.AST) -> bool:
    return any(fails(inner) for inner in ast.walk(node))


def helpers(trees: list[ast.Module]) -> set[str]:
    """The names of functions and classes that assert, by themselves or through what they call."""
    by_name: dict[str, set[str]] = {}
    asserting: set[str] = set()
    for node in (n for tree in trees for n in ast.walk(tree)):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            by_name.setdefault(node.name, set()).update(called(node))
            if asserts(node):
                asserting.add(node.name)
    more = asserting
    while more:
        more = {n for n, names in by_name.items() if names & asserting} - asserting
        asserting |= more
    return asserting


def functions_that_test(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name.startswith("test_"):
            yield node


# --- loops ----------------------------------------------------------------------------------------
AS_LONG = {"enumerate", "zip", "sorted", "reversed", "pairwise", "list", "tuple", "set", "product"}
OF_THEM = {"items", "values", "keys", "splitlines", "split"}


def has_turns(iterable: ast.AST, filled: set[str]) -> bool:
    """Whether it can be seen that it is not empty. ``filled``: names of which that can be seen."""
    match iterable:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return bool(parts)
        case ast.Dict(keys=keys):
            return bool(keys)
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in filled
        case ast.BinOp(left=left, right=right):
            return has_turns(left, filled) or has_turns(right, filled)
        case ast.ListComp(generators=[ast.comprehension(iter=inner, ifs=[])]):
            return has_turns(inner, filled)
        case ast.Call(func=ast.Name(id="range")):
            return True
        case ast.Call(
            func=ast.Name(id="zip"), args=arguments, keywords=[ast.keyword(arg="strict")]
        ):
            return any(has_turns(a, filled) for a in arguments)
        case ast.Call(args=[*arguments]) if arguments and name_of(iterable) in AS_LONG:
            return all(has_turns(a, filled) for a in arguments)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in OF_THEM:
            return has_turns(value, filled)
    return False


def not_empty(test: ast.AST, filled: set[str]) -> set[str]:
    """``filled``, and the names to which the test binds something that is not empty."""
    assignments = [node for node in ast.walk(test) if isinstance(node, ast.Assign)]
    while True:
        more = {
            target.id
            for node in assignments
            if has_turns(node.value, filled)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        if more <= filled:
            return filled
        filled = filled | more


def at_the_top(tree: ast.Module) -> set[str]:
    """Constants of a module, its own and others', are taken to hold something."""
    imported = {a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    own = {
        n.id
        for s in tree.body
        if isinstance(s, ast.Assign | ast.AnnAssign)
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return own | {name for name in imported if name.isupper()}


def of_none(test: ast.expr, filled: set[str]) -> bool:
    """``all(... for ...)`` and ``not any(... for ...)`` are true of nothing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, function = test.operand, "any"
    else:
        function = "all"
    match test:
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp(generators=generators)]) if (
            name == function
        ):
            return not has_turns(generators[0].iter, filled)
    return False


def judged(node: ast.AST, filled: set[str], unsure: bool) -> Iterator[bool]:
    """Of each assertion below the node, whether it may not be reached or be true of nothing."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assert):
            yield unsure or of_none(child.test, filled)
        elif fails(child):
            yield unsure
        elif isinstance(child, ast.For | ast.AsyncFor):
            sure = isinstance(child, ast.AsyncFor) or has_turns(child.iter, filled)
            yield from judged(child, filled, unsure or not sure)
        else:
            yield from judged(child, filled, unsure)


def hangs_on_a_loop(test: ast.AST, filled: set[str]) -> bool:
    verdicts = list(judged(test, not_empty(test, filled), unsure=False))
    return bool(verdicts) and all(verdicts)


# --- all of them ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text())
        for path in sorted(ROOT.rglob("*.py"))
    }


def test_every_test_asserts(trees: dict[str, ast.Module]) -> None:
    asserting = helpers(list(trees.values()))
    silent = {
        test.name: path
        for path, tree in trees.items()
        for test in functions_that_test(tree)
        if not asserts(test) and not asserting.intersection(called(test))
    }
    assert silent.keys() == ASSERT_NOTHING.keys(), silent


def test_no_test_hangs_on_a_loop_that_may_have_no_turns(trees: dict[str, ast.Module]) -> None:
    """Say beside the loop that there is something: ``assert objects``."""
    hanging = {
        test.name: path
        for path, tree in trees.items()
        for test in functions_that_test(tree)
        if hangs_on_a_loop(test, at_the_top(tree))
    }
    assert hanging.keys() == MAY_HAVE_NO_TURNS.keys(), hanging


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("for x in answer(): assert x", True),
        ("for x in answer().values():\n  for y in (1, 2): assert x", True),
        ("assert all(x for x in answer())", True),
        ("assert not any(x for x in answer())", True),
        ("for x in answer(): pytest.fail('x')", True),
        ("listed = answer()\nassert listed\nfor x in listed: assert x", False),
        ("for x in (1, 2): assert x", False),
        ("listed = [1]\nfor x in sorted(listed): assert x", False),
        ("for x in range(3): assert x", False),
        ("a = [1]\nb = [f(x) for x in a]\nfor x in itertools.product(a, b): assert x", False),
        ("for x, y in zip(answer(), (1, 2), strict=True): assert x", False),
        ("for x, y in zip(answer(), (1, 2)): assert x", True),
        ("assert any(x for x in answer())", False),
        ("async for x in answer(): assert x", False),
        ("with pytest.raises(ValueError): answer()", False),
    ],
)
def test_what_hangs_on_a_loop_is_seen(body: str, verdict: bool) -> None:
    lines = "\n".join(f"  {line}" for line in body.splitlines())
    (function,) = ast.parse(f"async def test_x():\n{lines}").body
    assert hangs_on_a_loop(function, set()) is verdict


def test_what_asserts_nothing_is_seen() -> None:
    source = "def check(): assert f()\ndef test_a(): check()\ndef test_b(): f()\ndef f(): pass"
    tree = ast.parse(source)
    asserting = helpers([tree])
    assert asserting == {"check", "test_a"}
    assert [asserts(test) for test in functions_that_test(tree)] == [False, False]
