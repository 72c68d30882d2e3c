from __future__ import annotations

from typing import Any

import pytest

from apiserver.golang.fmt import go_syntax, go_type, go_value


@pytest.mark.parametrize(
    ("value", "plain", "type_", "syntax"),
    [
        (None, "<nil>", "<nil>", "interface {}(nil)"),
        (True, "true", "bool", "true"),
        (3, "3", "int64", "3"),
        (1e6, "1e+06", "float64", "1e+06"),
        ('a"b', 'a"b', "string", r'"a\"b"'),
        ([1, "x"], "[1 x]", "[]interface {}", '[]interface {}{1, "x"}'),
        (
            {"b": [None], "a": False},
            "map[a:false b:[<nil>]]",
            "map[string]interface {}",
            'map[string]interface {}{"a":false, "b":[]interface {}{interface {}(nil)}}',
        ),
    ],
)
def test_verbs(value: Any, plain: str, type_: str, syntax: str) -> None:
    assert (go_value(value), go_type(value), go_syntax(value)) == (plain, type_, syntax)


def test_keys_of_another_type() -> None:
    assert go_syntax({"a": {}}, "interface {}") == (
        'map[interface {}]interface {}{"a":map[interface {}]interface {}{}}'
    )
