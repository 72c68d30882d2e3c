"""``python -m tests.benchmarks --only cel``: what rules cost in one process, without server or
storage.

A typical rule's yardstick is the same condition as a Python function over the same objects, in the
same run: the ratio says the same on every machine. The loop that spends the whole budget has none;
its figure is the time from start to stop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apiserver.cel.errors import BudgetExceeded
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.rulenodes import RuleNode, compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.cel.plan.program import PER_CALL_LIMIT, Program, compile
from apiserver.cel.types import INT, STRING, list_type, map_type
from apiserver.schema.types import Rule, Schema
from tests.benchmarks.bench import Bench
from tests.benchmarks.result import Result

RUNS = 30
_NUMBER = Schema(type="integer")
_STRING = Schema(type="string", max_length=100)
_STRINGS = Schema(type="array", items=_STRING, max_items=100)
_SPEC = {
    "minReplicas": _NUMBER,
    "replicas": _NUMBER,
    "maxReplicas": _NUMBER,
    "name": _STRING,
    "names": _STRINGS,
    "labels": Schema(type="object", additional=_STRING, max_properties=100),
}
OBJECT: dict[str, Any] = {
    "minReplicas": 1,
    "replicas": 3,
    "maxReplicas": 5,
    "name": "web-1",
    "names": ["a1", "a2", "a3", "a4"],
    "labels": {"app": "web", "tier": "x"},
}
_ENV = BASE.extend(
    {"self": map_type(STRING, INT), "names": list_type(STRING)},
)


@dataclass(frozen=True, slots=True)
class Case:
    """rule: in CEL; python: the same by hand, given self and oldSelf."""

    name: str
    rule: str
    python: Callable[[Any, Any], bool]


CASES = [
    Case(
        "cel: min <= n <= max",
        "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
        lambda s, _: s["minReplicas"] <= s["replicas"] and s["replicas"] <= s["maxReplicas"],
    ),
    Case(
        "cel: all of 4 names",
        "self.names.all(x, x.startsWith('a'))",
        lambda s, _: all(x.startswith("a") for x in s["names"]),
    ),
    Case(
        "cel: matches",
        "self.name.matches('^[a-z]+-[0-9]+$')",
        lambda s, _: s["name"][:4] == "web-" and s["name"][4:].isdigit(),
    ),
    Case(
        "cel: transition",
        "self.replicas >= oldSelf.replicas",
        lambda s, o: s["replicas"] >= o["replicas"],
    ),
    Case(
        "cel: has and in",
        "!has(self.labels) || 'app' in self.labels && self.labels['app'] != ''",
        lambda s, _: "labels" not in s or ("app" in s["labels"] and s["labels"]["app"] != ""),
    ),
    Case(
        "cel: sizes",
        "size(self.names) <= 10 && self.name.size() < 50",
        lambda s, _: len(s["names"]) <= 10 and len(s["name"]) < 50,
    ),
]


def schema_of(rules: int, rule: str) -> Schema:
    """A schema that has the same rule so many times."""
    return Schema(
        type="object", properties=_SPEC, rules=(Rule(rule, "", "", "", "", None),) * rules
    )


def rule_cost(case: Case) -> float:
    """Seconds that one more rule takes in the validation of an object, walk and error handling of
    the rest left out."""
    many, one = (compile_rules(schema_of(n, case.rule), root=False) for n in (11, 1))
    return (_best(lambda: _pass(many)) - _best(lambda: _pass(one))) / 10


def _pass(node: RuleNode | None) -> None:
    if validate(node, OBJECT, OBJECT, ratchet=False).errors:
        raise RuntimeError("a rule refused the object")


def _best(call: Callable[[], Any], calls: int = 20) -> float:
    """Processor seconds of a call in the best of several runs, so that neighbours on the machine
    count little."""
    call()
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time_ns()
        for _ in range(calls):
            call()
        best = min(best, (time.process_time_ns() - start) / calls)
    return best / 1e9


def exhaustion() -> tuple[float, int]:
    """Seconds until a loop has spent a call's whole budget, and the units that it spent."""
    program = compile(_ENV, "names.all(x, names.all(y, x != y || x == 'n'))")
    assert isinstance(program, Program)
    names = ["n"] * 100_000
    best, spent = float("inf"), 0
    for _ in range(5):
        start = time.process_time_ns()
        try:
            program.evaluate({"names": names}, PER_CALL_LIMIT)
        except BudgetExceeded as e:
            spent = e.spent
        best = min(best, (time.process_time_ns() - start) / 1e9)
    return best, spent


async def rules(_bench: Bench) -> list[Result]:
    """Rules of custom resources, each in µs beside the same in Python; and a call that runs out of
    budget."""
    results = []
    for case in CASES:
        ours = rule_cost(case)
        # a bound default
        theirs = _best(lambda case=case: case.python(OBJECT, OBJECT), 200)  # type: ignore[misc]
        results.append(Result(case.name, ours * 1e6, "µs/rule", theirs * 1e6))
    seconds, spent = exhaustion()
    results.append(
        Result("cel: budget of a call", seconds * 1000, "ms", notes={"units": f"{spent:,}"})
    )
    return results
