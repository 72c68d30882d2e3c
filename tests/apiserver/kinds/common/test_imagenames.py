from __future__ import annotations

import pytest

from apiserver.kinds.common.imagenames import tag

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nginx", "latest"),
        ("nginx:1", "1"),
        ("a.example:5000/x/y", "latest"),
        ("localhost/x:2", "2"),
        ("Registry/x:2", "2"),  # a first part in capitals is a registry
        (f"x@{DIGEST}", ""),
        (f"x:3@{DIGEST}", "3"),
        (f"x@{DIGEST.upper()}", ""),
        ("A_b!", ""),
        ("Nginx", ""),
        ("", ""),
        ("x=y", ""),
        ("a//b", ""),
        ("0123456789abcdef" * 4, ""),
        ("x" * 300, ""),
    ],
)
def test_tag(image: str, expected: str) -> None:
    assert tag(image) == expected
