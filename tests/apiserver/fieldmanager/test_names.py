"""Names of managers."""

from __future__ import annotations

import pytest

from apiserver.fieldmanager.names import manager_name, validate_manager_name


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "name"),
    [
        ("given", "kubectl/v1", "given"),
        ("", "kubectl/v1.36 (linux/amd64)", "kubectl"),
        ("", "plain name", "plain name"),
        ("", "/v1", ""),
        ("", "", ""),
        ("", "a\tb\u00a0c/1", "abc"),
        ("", "ü" * 100, "ü" * 64),
        ("", "x" + "ü" * 100, "x" + "ü" * 63),
    ],
)
def test_where_a_name_comes_from(field_manager: str, user_agent: str, name: str) -> None:
    assert manager_name(field_manager, user_agent) == name


def test_errors_of_given_names() -> None:
    assert (
        validate_manager_name("")
        == validate_manager_name("ü" * 64)
        == validate_manager_name("a b/c ü")
        == []
    )
    assert [str(e) for e in validate_manager_name("ü" * 65)] == [
        "fieldManager: Too long: may not be more than 128 bytes"
    ]
    assert [str(e) for e in validate_manager_name("ü\n")] == [
        'fieldManager: Invalid value: "ü\\n": invalid character U+000A (at position 2)'
    ]
