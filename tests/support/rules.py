"""Policy rules of RBAC and questions about them, over few words, so that they often meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from apiserver.authz.attributes import Attributes
from apiserver.user import User

Rule = dict[str, Any]
words = st.sampled_from(["a", "b", "c", "*"])


def lists(of: st.SearchStrategy[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(of, min_size=least, max_size=3, unique=True)


resource_rules = st.fixed_dictionaries(
    {
        "verbs": lists(words),
        "apiGroups": lists(words),
        "resources": lists(st.sampled_from(["a", "b", "a/s", "b/s", "*/s", "*"])),
    },
    optional={"resourceNames": lists(st.sampled_from(["x", "y"]))},
)
url_rules = st.fixed_dictionaries(
    {"verbs": lists(words), "nonResourceURLs": lists(st.sampled_from(["/a", "/a/*", "/b/c", "*"]))}
)
rules = st.one_of(resource_rules, url_rules)
questions = st.one_of(
    st.builds(
        Attributes,
        st.just(User("u")),
        st.sampled_from("abc"),
        group=st.sampled_from("abc"),
        resource=st.sampled_from("ab"),
        subresource=st.sampled_from(["", "s"]),
        name=st.sampled_from(["", "x", "y"]),
    ),
    st.builds(
        Attributes,
        st.just(User("u")),
        st.sampled_from("abc"),
        path=st.sampled_from(["/a", "/a/b", "/b/c", "/d"]),
        is_resource=st.just(False),
    ),
)
