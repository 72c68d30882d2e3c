from __future__ import annotations

import pytest

from apiserver.authn.impersonation import read_headers
from apiserver.errors import BadRequest
from apiserver.user import User


@pytest.mark.parametrize(
    "headers",
    [[("Accept", "*/*")], [("Impersonate-User", "")], [("Impersonate-Uid", "")]],
)
def test_without_a_name_nobody_is_impersonated(headers: list[tuple[str, str]]) -> None:
    assert read_headers(headers) is None


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ([("Impersonate-User", "carol")], User("carol")),
        ([("Impersonate-User", "carol"), ("Impersonate-User", "bob")], User("carol")),
        (
            [("impersonate-user", "c"), ("Impersonate-Group", "b"), ("Impersonate-Group", "a")],
            User("c", groups=("b", "a")),
        ),
        (
            [
                ("Impersonate-User", "c"),
                ("Impersonate-Uid", "1"),
                ("Impersonate-Extra-Team", "blue"),
                ("Impersonate-Extra-A%2fB", "x"),
                ("Impersonate-Extra-A%2FB", "y"),
            ],
            User("c", "1", (), {"team": ("blue",), "a/b": ("x", "y")}),
        ),
        (
            [("Impersonate-User", "c"), ("Impersonate-Extra-A%2fB%zz", "x")],
            User("c", extra={"a%2fb%zz": ("x",)}),
        ),
    ],
)
def test_whom_the_headers_name(headers: list[tuple[str, str]], user: User) -> None:
    assert read_headers(headers) == user


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        (
            ("Impersonate-Group", "staff"),
            'UID:"", Groups:[]string{"staff"}, Extra:map[string][]string(nil)',
        ),
        (
            ("Impersonate-Uid", "u"),
            'UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)',
        ),
        (
            ("Impersonate-Extra-Team", "blue"),
            'UID:"", Groups:[]string(nil), Extra:map[string][]string{"team":[]string{"blue"}}',
        ),
    ],
)
def test_parts_without_a_user_are_a_bad_request(header: tuple[str, str], shown: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_headers([header])
    assert refused.value.message == (
        f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name'
    )
