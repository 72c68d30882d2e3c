"""Syntax errors read as ANTLR's (texts from recordings of kube-apiserver and from its documentation
of failures)."""

from __future__ import annotations

import pytest

from apiserver.cel.errors import Source, display
from apiserver.cel.syntax.macros import STANDARD
from apiserver.cel.syntax.parser import parse

OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, "
    "NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def first_lines(text: str) -> list[str]:
    _, errors = parse(text, STANDARD)
    return [
        line.removeprefix("ERROR: <input>:")
        for line in display(Source(text), errors).splitlines()
        if line.startswith("ERROR")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.", ["1:8: Syntax error: no viable alternative at input '.'"]),
        (
            "self.a$b == 1",
            [
                "1:7: Syntax error: token recognition error at: '$'",
                "1:8: Syntax error: mismatched input 'b' expecting <EOF>",
            ],
        ),
        (
            "a = b",
            [
                "1:3: Syntax error: token recognition error at: '= '",
                "1:5: Syntax error: extraneous input 'b' expecting <EOF>",
            ],
        ),
        ("1 +", [f"1:4: Syntax error: mismatched input '<EOF>' expecting {OPERAND}"]),
        ("(a", ["1:3: Syntax error: missing ')' at '<EOF>'"]),
        ("a)", ["1:2: Syntax error: extraneous input ')' expecting <EOF>"]),
        ("a ? b", ["1:6: Syntax error: mismatched input '<EOF>' expecting ':'"]),
        ("self.true == 1", ["1:6: Syntax error: mismatched input 'true' expecting IDENTIFIER"]),
        (
            "Object{metadata: Object.metadata{labels:",
            [f"1:41: Syntax error: mismatched input '<EOF>' expecting {OPERAND}"],
        ),
        (
            "'abc",
            [
                "1:1: Syntax error: token recognition error at: ''abc'",
                f"1:5: Syntax error: mismatched input '<EOF>' expecting {OPERAND}",
            ],
        ),
        ("", [f"1:0: Syntax error: mismatched input '<EOF>' expecting {OPERAND}"]),
        ("{a}", ["1:3: Syntax error: mismatched input '}' expecting ':'"]),
    ],
)
def test_wording(text: str, expected: list[str]) -> None:
    assert first_lines(text) == expected


@pytest.mark.parametrize("opening", ["(", "[", "{1:", "f(", "-(", "!(", "a ? b : ", "1 + ("])
def test_depth_is_limited(opening: str) -> None:
    assert first_lines(opening * 5000 + "1")[0] == "-1:0: expression recursion limit exceeded: 250"


@pytest.mark.parametrize(
    "text", ["1" + "+1" * 300, "a" + ".b" * 300, "a" + "[0]" * 300, "a" + "<a" * 300]
)
def test_chains_are_limited(text: str) -> None:
    assert first_lines(text) == ["-1:0: max recursion depth exceeded"]


def test_long_logic_is_not_limited() -> None:
    tree, errors = parse(" && ".join(["a"] * 5000), STANDARD)
    assert tree is not None
    assert errors == []


def test_size_is_limited() -> None:
    assert first_lines("a" * 100_001) == [
        "-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    ]
