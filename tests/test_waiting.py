"""Tests wait for what must happen and share a database without meeting: no wait ends after a few
seconds because the machine is busy, no assertion says how fast something is, and no two files give
a tenant or an account the same name."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
APART = ("benchmarks", "robustness", "browser", "clients")
"""What is measured there, or each has an installation of its own."""
WAITS = {"timeout": 0, "wait_for": 1, "WebDriverWait": 1}
"""Functions → at which place they are given their seconds."""
WALL_CLOCKS = {"monotonic", "perf_counter", "time"}
MAY_END = 30.0
"""Seconds below which a wait is taken for a bet on how busy the machine is."""


def files(*but: str) -> dict[str, ast.Module]:
    paths = (p.relative_to(ROOT) for p in sorted(ROOT.rglob("*.py")))
    return {str(p): ast.parse((ROOT / p).read_text()) for p in paths if p.parts[0] not in but}


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


# --- clocks ---------------------------------------------------------------------------------------
def passed_over(tree: ast.AST) -> set[ast.AST]:
    """What stands below ``suppress(TimeoutError)`` or in ``pytest.raises``: a time that is over is
    no failure there."""
    below: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.With | ast.AsyncWith):
            managers = [i.context_expr for i in node.items if isinstance(i.context_expr, ast.Call)]
            if any(name_of(m) in {"suppress", "raises"} for m in managers):
                below.update(ast.walk(node))
    return below


def bets(tree: ast.AST) -> Iterator[int]:
    """The lines of waits of a few seconds."""
    harmless = passed_over(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node not in harmless:
            place = WAITS.get(name_of(node))
            seconds = node.args[place] if place is not None and len(node.args) > place else None
            if (
                isinstance(seconds, ast.Constant)
                and isinstance(seconds.value, int | float)
                and seconds.value < MAY_END
            ):
                yield node.lineno


def races(tree: ast.AST) -> Iterator[int]:
    """The lines of assertions that less than so much time has passed on a wall clock."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            for compared in (n for n in ast.walk(node.test) if isinstance(n, ast.Compare)):
                match compared:
                    case ast.Compare(
                        left=ast.BinOp(left=ast.Call() as clock, op=ast.Sub()),
                        ops=[ast.Lt() | ast.LtE()],
                    ) if name_of(clock) in WALL_CLOCKS:
                        yield compared.lineno


def test_no_wait_is_a_bet_on_how_busy_the_machine_is() -> None:
    """`tests.support.waiting.PATIENCE` is for what never comes."""
    hasty = {path: lines for path, tree in files("benchmarks").items() if (lines := [*bets(tree)])}
    assert hasty == {}


def test_nothing_is_asserted_about_how_fast_it_is() -> None:
    hasty = {path: lines for path, tree in files("benchmarks").items() if (lines := [*races(tree)])}
    assert hasty == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("asyncio.wait_for(x, 5)", [1]),
        ("async def f():\n  async with asyncio.timeout(2.5): pass", [2]),
        ("WebDriverWait(browser, 20).until(x)", [1]),
        ("asyncio.wait_for(x, PATIENCE)", []),
        ("asyncio.wait_for(x, 300)", []),
        ("with suppress(TimeoutError):\n  asyncio.wait_for(x, 0.2)", []),
        ("assert time.monotonic() - began < 2", [1]),
        ("assert x and time.perf_counter() - began <= 2", [1]),
        ("assert time.monotonic() - began > 2", []),
        ("assert time.process_time() - began < 2", []),
    ],
)
def test_bets_and_races_are_seen(source: str, lines: list[int]) -> None:
    tree = ast.parse(source)
    assert [*bets(tree), *races(tree)] == lines


# --- names ----------------------------------------------------------------------------------------
MAKES = {"create_tenant", "ensure_tenant", "create_user", "create_superuser"}
"""Functions that are given the name first."""
OF_ALL = {"default"}
"""Tenants that every database has."""


Names = dict[str, set[str]]


def texts(node: ast.AST | None, names: Names) -> set[str]:
    """The names that an argument can give; of an f-string what it begins with, and ``*``."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return {f"{text}*"}
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
            return names.get(name, set())
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return {text for part in parts for text in texts(part, names)}
    return set()


def bound(tree: ast.Module) -> Names:
    """What variables, and functions that make names, of a file may come to."""
    names: Names = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names.setdefault(name, set()).update(texts(value, names))
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple() | ast.List() as several):
                names.setdefault(name, set()).update(texts(several, names))
            case ast.FunctionDef(name=name, body=[*_, ast.Return(value=value)]):
                names.setdefault(name, set()).update(texts(value, names))
    return names


def made_by(call: ast.Call) -> str:
    """The function that is called, here or in a thread: ``sync_to_async(function)(...)``."""
    match call.func:
        case ast.Call(args=[ast.Attribute(attr=name) | ast.Name(id=name)]):
            return name
    return name_of(call)


def given(tree: ast.Module) -> Iterator[str]:
    """The names that a file gives to tenants and accounts, where they stand in it."""
    names = bound(tree)
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        if made_by(call) in MAKES and call.args:
            yield from texts(call.args[0], names)
        match call.args:
            case [ast.Constant(value="tenant"), ast.Constant(value="create"), *rest]:
                options = (i for i, a in enumerate(rest) if "--" in "".join(texts(a, {})))
                for argument in rest[: next(options, len(rest))]:
                    yield from texts(argument, names)
        for keyword in call.keywords:
            if keyword.arg == "username" and made_by(call) in {"create", "get_or_create"}:
                yield from texts(keyword.value, names)


def meet(one: str, other: str) -> bool:
    """Whether two names, or what they begin with, can be the same."""
    start, other_start = one.rstrip("*"), other.rstrip("*")
    return (
        one == other
        or (one.endswith("*") and other_start.startswith(start))
        or (other.endswith("*") and start.startswith(other_start))
    )


def test_no_two_files_give_the_same_name() -> None:
    """What one leaves behind, the other finds, in an order that nobody has chosen."""
    by_file = {path: {*given(tree)} - OF_ALL for path, tree in files(*APART).items()}
    assert sum(map(len, by_file.values())) > 30
    shared = [
        (one, other, name, another)
        for (one, names), (other, others) in itertools.combinations(by_file.items(), 2)
        for name in names
        for another in others
        if meet(name, another)
    ]
    assert shared == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('service.create_tenant("a", max_objects=1)', ["a"]),
        ('NAME = "a"\nensure_tenant(NAME)', ["a"]),
        ('service.create_tenant(f"a-{i}")', ["a-*"]),
        ('run("tenant", "create", "a", "b", "--label", "c")', ["a", "b"]),
        ('User.objects.create(username="a")', ["a"]),
        ("for n in ('a', 'b'): ensure_tenant(n)", ["a", "b"]),
        ('def fresh(): return f"a-{i}"\ncreate_tenant(fresh())', ["a-*"]),
        ('sync_to_async(service.create_tenant)("a")', ["a"]),
        ("service.create_tenant(fresh())", []),
    ],
)
def test_names_are_seen(source: str, names: list[str]) -> None:
    assert sorted(given(ast.parse(source))) == names


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a", "a", True),
        ("a-*", "a-1", True),
        ("a-1", "a-*", True),
        ("a-*", "a-b-*", True),
        ("a", "b", False),
        ("a", "a-1", False),
        ("a-*", "b-1", False),
    ],
)
def test_names_that_meet(one: str, other: str, same: bool) -> None:
    assert meet(one, other) is same
