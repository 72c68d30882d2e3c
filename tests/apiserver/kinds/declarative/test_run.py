"""Declared beside hand-written errors: levels, gates, differences, failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.fielderrors import FieldError, FieldErrors, FieldPath, invalid, required
from apiserver.kinds.catalog import resources
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import (
    DEFAULT_GATES,
    METRICS,
    MISMATCHES,
    PANICS,
    Gates,
    Subject,
    covered,
    validate,
)
from apiserver.schema.types import Schema
from tests.support.kindreplay import replay, scenarios

SHARED = Path(__file__).resolve().parents[5] / "shared"
NUMBER = Schema(type="integer")
SCHEMA_PROPERTIES = {
    "a": NUMBER,
    "b": NUMBER,
    "items": Schema(type="array", items=Schema(type="object", properties={"n": NUMBER})),
}
OFF, TAKEOVER, NO_BETA = (
    Gates(declarative_validation=False),
    Gates(takeover=True),
    Gates(beta=False),
)


@pytest.fixture(autouse=True)
def _counters() -> Iterator[None]:
    before = MISMATCHES.copy(), PANICS.copy()
    MISMATCHES.clear()
    PANICS.clear()
    yield
    MISMATCHES.update(before[0])
    PANICS.update(before[1])


def by_hand(path: str = "a", value: int = -1) -> FieldError:
    [error] = covered([invalid(path, value, "by hand")], "minimum")
    return error


def errors_of(
    rule: Any,
    obj: Any,
    written: FieldErrors,
    gates: Gates = DEFAULT_GATES,
    old: Any = None,
    subresource: str = "",
    path: str = "a",
) -> list[str]:
    declared = Declared({"": [t.supports_subresource("/status")], path: [rule]})
    schema = Schema(type="object", properties=SCHEMA_PROPERTIES)
    return [
        str(e)
        for e in validate(
            declared, Subject("Thing", "v1", schema, obj, old, subresource), written, gates
        )
    ]


BY_HAND = "a: Invalid value: -1: by hand"
DECLARED = "a: Invalid value: -1: must be greater than or equal to 0"


@pytest.mark.parametrize(
    ("rule", "gates", "expected"),
    [
        (t.alpha(t.minimum(0)), Gates(), [BY_HAND]),
        (t.alpha(t.minimum(0)), OFF, [BY_HAND]),
        (t.alpha(t.minimum(0)), NO_BETA, [BY_HAND]),
        (t.alpha(t.minimum(0)), TAKEOVER, [DECLARED]),
        (t.beta(t.minimum(0)), Gates(), [DECLARED]),
        (t.beta(t.minimum(0)), OFF, [BY_HAND]),
        (t.beta(t.minimum(0)), NO_BETA, [BY_HAND]),
        (t.beta(t.minimum(0)), TAKEOVER, [DECLARED]),
    ],
)
def test_level_and_gates_say_whose_error_counts(
    rule: Any, gates: Gates, expected: list[str]
) -> None:
    assert errors_of(rule, {"a": -1}, [by_hand()], gates) == expected
    assert not MISMATCHES


@pytest.mark.parametrize("gates", [Gates(), OFF, TAKEOVER, NO_BETA])
def test_a_standard_rule_always_counts_and_is_never_compared(gates: Gates) -> None:
    assert errors_of(t.minimum(0), {"a": -1}, [], gates) == [DECLARED]
    assert not MISMATCHES


def test_other_errors_stay_in_front() -> None:
    other = required("b")
    assert errors_of(t.beta(t.minimum(0)), {"a": -1}, [other, by_hand()]) == [
        "b: Required value",
        DECLARED,
    ]


def test_differences_are_counted_and_change_nothing() -> None:
    assert errors_of(t.alpha(t.minimum(0)), {"a": -1}, []) == []
    assert MISMATCHES == {"thing_create": 1}
    assert errors_of(t.alpha(t.minimum(0)), {"a": 1}, [by_hand()], old={"a": 0}) == [BY_HAND]
    assert MISMATCHES == {"thing_create": 1, "thing_update": 1}
    assert errors_of(t.alpha(t.minimum(0)), {"a": -1}, [by_hand("b")], subresource="status") == [
        "b: Invalid value: -1: by hand"
    ]
    assert MISMATCHES["thing_status_create"] == 2, "one too few, one too many"


def test_nothing_is_compared_while_the_gate_is_off() -> None:
    errors_of(t.alpha(t.minimum(0)), {"a": -1}, [], OFF)
    assert not MISMATCHES


def test_doubled_hand_written_errors_match_one_declared() -> None:
    assert errors_of(t.alpha(t.minimum(0)), {"a": -1}, [by_hand(), by_hand()]) == [BY_HAND, BY_HAND]
    assert not MISMATCHES


def test_errors_of_items_are_found_by_their_pattern() -> None:
    twin = by_hand("items[1].n")
    text = "items[1].n: Invalid value: -1: must be greater than or equal to 0"
    assert errors_of(
        t.beta(t.minimum(0)), {"items": [{"n": 1}, {"n": -1}]}, [twin], path="items[*].n"
    ) == [text]


def test_a_hand_written_error_without_a_rule_stays() -> None:
    assert errors_of(t.beta(t.minimum(0)), {"a": 1}, [by_hand("b")]) == [
        "b: Invalid value: -1: by hand"
    ]


def _broken(value: Any, path: FieldPath) -> Iterator[FieldError]:
    raise KeyError("oops")
    yield


def test_a_failing_rule_is_counted_and_shown_only_where_it_would_count() -> None:
    assert errors_of(t.alpha(t.custom(_broken)), {"a": 1}, [required("b")]) == ["b: Required value"]
    assert errors_of(t.custom(_broken), {"a": 1}, []) == [
        "<nil>: Internal error: panic during declarative validation: 'oops'"
    ]
    assert PANICS == {"thing_create": 2}


def test_a_subresource_that_is_not_supported_is_not_looked_at() -> None:
    assert errors_of(t.minimum(0), {"a": -1}, [], subresource="scale") == []
    assert errors_of(t.minimum(0), {"a": -1}, [], subresource="status") == [DECLARED]


def test_rules_of_a_subresource_alone() -> None:
    declared = Declared({"": [t.is_subresource("/scale")]})
    assert declared.supports("scale")
    assert not declared.supports("")


def test_gates_by_name() -> None:
    assert Gates.of({}) == Gates()
    gates = Gates.of(
        {
            "DeclarativeValidation": False,
            "DeclarativeValidationTakeover": True,
            "DeclarativeValidationBeta": False,
            "X": True,
        }
    )
    assert (gates.declarative_validation, gates.takeover, gates.beta) == (False, True, False)
    assert gates.enabled == {"DeclarativeValidationTakeover", "X"}


def test_options_come_from_gates_and_from_the_object() -> None:
    rules = {"a": [t.if_enabled("InUse", t.validate_false())]}
    schema = Schema(type="object", properties=SCHEMA_PROPERTIES)

    def found(gates: Gates, old: Any = None) -> int:
        in_use = Declared(rules, options=lambda obj, old: frozenset({"InUse"} if old else ()))
        return len(validate(in_use, Subject("T", "v1", schema, {"a": 2}, old), [], gates))

    assert [
        found(Gates()),
        found(Gates(enabled=frozenset({"InUse"}))),
        found(Gates(), {"a": 1}),
    ] == [0, 1, 1]


def test_metrics_have_upstreams_names() -> None:
    errors_of(t.alpha(t.minimum(0)), {"a": -1}, [])
    shown = {family.name: family.read() for family in METRICS}
    prefix = "apiserver_validation_declarative_validation_"
    assert shown[f"{prefix}mismatch_total"] == {(): 1}
    assert shown[f"{prefix}panic_total"] == {(): 0}
    assert shown[f"{prefix}parity_discrepancies_total"] == {("thing_create",): 1}


# --- the kinds ------------------------------------------------------------------------------------
def declaring() -> list[tuple[str, str]]:
    return [
        (str(r.group_resource), v)
        for r in resources().values()
        if r.hooks.declared is not None
        for v in r.versions
    ]


@pytest.mark.parametrize(("resource", "version"), declaring())
def test_every_declaration_compiles_against_its_schema(resource: str, version: str) -> None:
    found = next(r for r in resources().values() if str(r.group_resource) == resource)
    assert found.hooks.declared is not None
    assert found.hooks.declared.compiled(found.versions[version].schema, version).covers


def test_enough_kinds_declare() -> None:
    assert len({resource for resource, _ in declaring()}) >= 18


@pytest.mark.shared
def test_declared_and_hand_written_rules_agree_in_all_recordings() -> None:
    for path in scenarios(SHARED):
        list(replay(path))
    assert dict(MISMATCHES) == {}
    assert dict(PANICS) == {}
