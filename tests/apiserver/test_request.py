"""What a path is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.meta.fields import escape
from apiserver.request import parse_request, selected_name


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_the_old_proxy_path_is_a_verb_of_its_own_and_no_alias(method: str) -> None:
    info = parse_request(method, "/api/v1/proxy/namespaces/a/secrets/b")
    assert (info.verb, info.namespace, info.resource, info.name) == ("proxy", "a", "secrets", "b")


def test_the_old_watch_path_watches() -> None:
    info = parse_request("GET", "/api/v1/watch/namespaces/a/secrets", field_name="b")
    assert (info.verb, info.name, info.by_path) == ("watch", "", True)
    info = parse_request("GET", "/api/v1/watch/namespaces/a/secrets/b")
    assert (info.verb, info.name, info.by_path) == ("watch", "b", True)


@pytest.mark.parametrize(
    ("method", "watch", "verb", "name"),
    [
        ("GET", False, "list", "b"),
        ("HEAD", False, "list", "b"),
        ("GET", True, "watch", "b"),
        ("DELETE", False, "deletecollection", ""),
        ("POST", False, "create", ""),
    ],
)
def test_a_selector_names_what_is_read_and_not_what_is_deleted(
    method: str, watch: bool, verb: str, name: str
) -> None:
    path = "/api/v1/namespaces/a/secrets"
    info = parse_request(method, path, watch=watch, field_name="b")
    assert (info.verb, info.name, info.by_path) == (verb, name, False)


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("metadata.name=b", "b"),
        ("a=c,metadata.name==b", "b"),
        ("metadata.name!=b", ""),
        ("metadata.name=..", ""),
        ("metadata.name=a/b", ""),
        ("metadata.name=a%", ""),
        # an escaped comma is part of a value, and divides no terms
        (r"a=c\,metadata.name\=z,metadata.name=b", "b"),
        (r"metadata.name=b\,c", "b,c"),
        (r"metadata.name=b\=c", "b=c"),
        (r"metadata.name=b\\,a=c", "b\\"),
        # what is no selector picks nothing, whatever one of its terms says
        (r"a=c\,metadata.name=b", ""),
        ("metadata.name=b,a", ""),
        ("metadata.name=b=c", ""),
        (r"metadata.name=b\c", ""),
        # of two that cannot both hold upstream takes the first in order
        ("metadata.name=c,metadata.name=b", "b"),
    ],
)
def test_the_name_that_a_selector_picks(selector: str, name: str) -> None:
    assert selected_name({"fieldSelector": [selector, "metadata.name=z"]}) == name


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["metadata.name", "a"]),
            st.sampled_from(["=", "==", "!="]),
            st.text("ab,=\\!", max_size=6),
        ),
        max_size=3,
    )
)
def test_what_is_authorized_is_what_is_selected(terms: list[tuple[str, str, str]]) -> None:
    text = ",".join(f"{field}{sign}{escape(value)}" for field, sign, value in terms)
    demanded = {value for field, sign, value in terms if (field, sign[0]) == ("metadata.name", "=")}
    assert selected_name({"fieldSelector": [text]}) in (demanded or {""})
