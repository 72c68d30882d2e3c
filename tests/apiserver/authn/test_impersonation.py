from __future__ import annotations

import pytest

from apiserver.authn.impersonation import Check, read_headers
from apiserver.errors import BadRequest
from apiserver.user import User


def test_without_headers_nobody_is_impersonated() -> None:
    assert read_headers([("Accept", "*/*"), ("Impersonate-User", "")]) is None


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ([("Impersonate-User", "carol")], User("carol", groups=("system:authenticated",))),
        ([("impersonate-user", "carol"), ("Impersonate-Group", "staff")], User("carol", groups=("staff", "system:authenticated"))),
        ([("Impersonate-User", "x"), ("Impersonate-Group", "system:unauthenticated")], User("x", groups=("system:unauthenticated",))),
        ([("Impersonate-User", "system:anonymous")], User("system:anonymous", groups=("system:unauthenticated",))),
        (
            [("Impersonate-User", "system:serviceaccount:ns:robot")],
            User(
                "system:serviceaccount:ns:robot",
                groups=("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
            ),
        ),
        (
            [("Impersonate-User", "c"), ("Impersonate-Uid", "1"), ("Impersonate-Extra-Team", "blue"), ("Impersonate-Extra-A%2fB", "x")],
            User("c", "1", ("system:authenticated",), {"team": ("blue",), "a/b": ("x",)}),
        ),
    ],
)
def test_who_the_request_goes_on_as(headers: list[tuple[str, str]], user: User) -> None:
    found = read_headers(headers)
    assert found is not None and found.user == user


def test_every_part_must_be_allowed() -> None:
    found = read_headers(
        [("Impersonate-User", "bob"), ("Impersonate-Group", "g"), ("Impersonate-Extra-Scopes", "view"), ("Impersonate-Uid", "7")]
    )
    assert found is not None and found.checks == (
        Check("", "v1", "users", name="bob"),
        Check("", "v1", "groups", name="g"),
        Check("authentication.k8s.io", "v1", "userextras", "scopes", name="view"),
        Check("authentication.k8s.io", "v1", "uids", name="7"),
    )


def test_service_accounts_are_asked_for_in_their_namespace() -> None:
    found = read_headers([("Impersonate-User", "system:serviceaccount:ns:robot")])
    assert found is not None and found.checks == (Check("", "v1", "serviceaccounts", namespace="ns", name="robot"),)


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        (("Impersonate-Group", "staff"), "{Group  staff    }"),
        (("Impersonate-Uid", "u"), "{UID  u  authentication.k8s.io/v1  }"),
        (("Impersonate-Extra-Team", "blue"), "{UserExtra  blue  authentication.k8s.io/v1  team}"),
    ],
)
def test_parts_without_a_user_are_a_bad_request(header: tuple[str, str], shown: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_headers([header])
    assert refused.value.message == f"requested [{shown}] without impersonating a user"
