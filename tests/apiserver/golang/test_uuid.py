from __future__ import annotations

import pytest

from apiserver.golang.uuid import uuid_problem

STANDARD = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (STANDARD, ""),
        (STANDARD.upper(), ""),
        (STANDARD.replace("-", ""), ""),
        ("{" + STANDARD + "}", ""),
        ("URN:UUID:" + STANDARD, ""),
        ("short", "invalid UUID length: 5"),
        (STANDARD.replace("-", "_"), "invalid UUID format"),
        ("g" * 32, "invalid UUID format"),
        ("(" + STANDARD + ")", "invalid bracketed UUID format"),
        ("urn:uudd:" + STANDARD, 'invalid urn prefix: "urn:uudd:"'),
    ],
)
def test_forms_of_a_uuid(text: str, problem: str) -> None:
    assert uuid_problem(text) == problem
