"""In which order the rules of one value run, and what ends what (the tables of validation-gen's
output_tests: cohorts, ratcheting)."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.fielderrors import FieldPath
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.rules import Rule, Run
from apiserver.kinds.declarative.tree import compile_rules
from apiserver.schema.types import Schema

STRING, NUMBER, FLAG = Schema(type="string"), Schema(type="integer"), Schema(type="boolean")
ITEM = Schema(
    type="object",
    properties={"key": STRING, "id": Schema(type="string", go_pointer=True), "data": STRING},
)
PLAIN = Schema(type="object", properties={"x": STRING, "y": NUMBER})
ROOT = Schema(
    type="object",
    properties={
        "s": STRING,
        "n": NUMBER,
        "on": FLAG,
        "p": Schema(type="integer", go_pointer=True),
        "q": Schema(type="integer", go_pointer=True),
        "plain": PLAIN,
        "list": Schema(type="array", items=ITEM),
        "texts": Schema(type="array", items=STRING),
    },
)
KEYED = [t.list_type("map"), t.list_map_key("key")]


def found(rules: dict[str, list[Rule]], obj: Any, old: Any = None) -> list[tuple[str, str]]:
    findings = compile_rules(rules, ROOT).findings(
        Run(old is not None), FieldPath(""), obj, old, related=old is not None
    )
    return [(str(f.error.path), f.error.detail.removeprefix("forced failure: ")) for f in findings]


def details(rules: dict[str, list[Rule]], obj: Any, old: Any = None) -> list[str]:
    return [detail for _, detail in found(rules, obj, old)]


# --- cohorts --------------------------------------------------------------------------------------
def test_a_cohort_ends_alone_and_the_value_itself_comes_first() -> None:
    rules = [
        t.validate_false("c2 regular", cohort="c2"),
        t.validate_false("c1 regular", cohort="c1"),
        t.validate_false("c1 short", cohort="c1", short=True),
        t.validate_false("regular"),
    ]
    assert details({"s": rules}, {}) == ["regular", "c2 regular", "c1 short"]
    assert details({"s": [*rules, t.validate_false("short", short=True)]}, {}) == ["short"]
    assert details({"s": [*rules, t.validate_false(short=True, silent=True)]}, {}) == []


def test_all_short_rules_of_a_cohort_run() -> None:
    assert details(
        {"s": [t.validate_false("1", short=True), t.validate_false("2", short=True)]}, {}
    ) == ["1", "2"]


def test_a_missing_member_ends_what_is_said_of_that_member_only() -> None:
    rules = {
        "plain": [
            t.subfield("x", t.required()),
            t.subfield("x", t.format("k8s-short-name")),
            t.subfield("y", t.minimum(1)),
            t.validate_false("of the struct"),
        ],
        "plain.y": [t.validate_false("inside")],
    }
    assert [path for path, _ in found(rules, {"plain": {}})] == [
        "plain",
        "plain.x",
        "plain.y",
        "plain.y",
    ]
    assert [path for path, _ in found(rules, {"plain": {"x": "A", "y": 1}})] == [
        "plain",
        "plain.x",
        "plain.y",
    ]


def test_an_item_that_may_not_change_ends_what_is_said_of_that_item_only() -> None:
    rules = {
        "list": [
            *KEYED,
            t.item(t.immutable(), key="a"),
            t.item(t.validate_false("a"), key="a"),
            t.item(t.validate_false("b"), key="b"),
        ]
    }
    new = {"list": [{"key": "a", "data": "2"}, {"key": "b", "data": "2"}]}
    old = {"list": [{"key": "a", "data": "1"}, {"key": "b", "data": "1"}]}
    assert found(rules, new, old) == [("list[0]", "field is immutable"), ("list[1]", "b")]
    assert found(rules, new, {**old, "list": old["list"][:1]}) == [
        ("list[0]", "field is immutable"),
        ("list[1]", "b"),
    ]


def test_a_short_rule_for_each_item_ends_the_list() -> None:
    rules = {
        "list": [
            t.each_val(t.subfield("data", t.required())),
            t.each_val(t.validate_false("later")),
        ]
    }
    assert found(rules, {"list": [{"data": "1"}, {}]}) == [("list[1].data", "")]
    assert details(rules, {"list": [{"data": "1"}]}) == ["later"]


# --- turns ----------------------------------------------------------------------------------------
def test_rules_run_in_the_order_of_their_names_wherever_they_are_written() -> None:
    written = {
        "s": [
            t.enum("a"),
            t.min_length(9),
            t.neq("zz"),
            t.max_length(1),
            t.format("k8s-short-name"),
        ]
    }
    assert [detail.split(" ")[0:2] for detail in details(written, {"s": "zz"})] == [
        ["may", "not"],
        ["must", "be"],
        ["must", "not"],
        ["supported", "values:"],
    ]


def test_what_needs_list_tags_comes_later_and_uniqueness_last() -> None:
    rules = {
        "texts": [
            t.list_type("set"),
            t.each_val(t.validate_false("each")),
            t.validate_false("list"),
        ]
    }
    assert found(rules, {"texts": ["a", "a"]}) == [
        ("texts", "list"),
        ("texts[0]", "each"),
        ("texts[1]", "each"),
        ("texts[1]", ""),
    ]


def test_rules_by_discriminator_come_before_unions() -> None:
    rules = {
        "s": [t.discriminator()],
        "p": [t.union_member(), t.member("A", t.required())],
        "q": [t.union_member(), t.zero_or_one_of_member()],
    }
    assert found(rules, {"s": "A"}) == [("p", ""), ("", "must specify one of: `p`, `q`")]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [("on", True, "true"), ("on", False, "false"), ("n", 3, "3"), ("n", 0, "0")],
)
def test_a_discriminator_may_be_a_number_or_a_boolean(field: str, value: Any, text: str) -> None:
    rules = {field: [t.discriminator()], "p": [t.member(text, t.required())]}
    assert found(rules, {field: value}) == [("p", "")]
    assert found(rules, {field: not value}) == []


# --- ratcheting of lists --------------------------------------------------------------------------
OLD = [{"key": "a", "data": "1"}, {"key": "b", "data": "2"}]


@pytest.mark.parametrize(
    ("tags", "new", "expected"),
    [
        ([t.list_type("atomic")], OLD[:1], ["list[0]"]),
        ([], OLD[:1], ["list[0]"]),
        ([t.list_type("set")], OLD[:1], []),
        (KEYED, OLD[:1], []),
        ([t.list_type("atomic"), t.unique("map"), t.list_map_key("key")], OLD[::-1], []),
        (KEYED, OLD[::-1], []),
        (KEYED, [*OLD, {"key": "c"}], ["list[2]"]),
        (KEYED, [{"key": "a", "data": "x"}, OLD[1]], ["list[0]"]),
    ],
)
def test_only_items_with_an_old_one_are_passed_over(
    tags: list[Rule], new: list[Any], expected: list[str]
) -> None:
    assert [
        path
        for path, _ in found(
            {"list": [*tags, t.each_val(t.validate_false())]}, {"list": new}, {"list": OLD}
        )
    ] == expected


def test_keys_that_are_absent_count_as_go_reads_them() -> None:
    by_value, by_pointer = KEYED, [t.list_type("map"), t.list_map_key("id")]
    assert found({"list": by_value}, {"list": [{}, {"key": ""}]}) == [("list[1]", "")]
    assert found({"list": by_pointer}, {"list": [{}, {"id": ""}]}) == []
    assert found({"list": by_pointer}, {"list": [{}, {"id": None}]}) == [("list[1]", "")]


def test_a_union_of_items_in_a_list_that_was_not_there_is_checked() -> None:
    rules = {"list": [*KEYED, t.item(t.union_member(), key="x"), t.item(t.union_member(), key="y")]}
    assert details(rules, {"list": [{"key": "z"}]}, {"s": "old"}) == [
        'must specify one of: `list[{"key": "x"}]`, `list[{"key": "y"}]`'
    ]
    assert found(rules, {"list": [{"key": "z"}]}, {"list": [{"key": "w"}]}) == []


def test_a_struct_that_is_always_there_can_only_be_modified() -> None:
    rules = {"plain": [t.update("NoModify")]}
    assert details(rules, {"plain": {"x": "a"}}, {}) == ["field cannot be modified once set"]
    assert found(rules, {"plain": {"x": "a"}}, {"plain": {"x": "a"}}) == []
