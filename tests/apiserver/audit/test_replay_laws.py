"""Whatever is asked: the entry tells the question that authorization was asked."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from apiserver.audit.recorder import Recorder
from apiserver.audit.replay import annotate, spec_of
from apiserver.authz.attributes import Decision
from apiserver.authz.reviews import attributes_of as of_review
from apiserver.authz.reviews import subject_of
from apiserver.endpoints.filters.auditing import _trail
from apiserver.endpoints.filters.authorization import _limited, attributes_of
from apiserver.endpoints.request import ApiRequest
from apiserver.user import User
from tests.support.api import receive_of

words = st.sampled_from(["api", "apis", "v1", "apps", "namespaces", "ns", "pods", "watch", "proxy"])
words |= st.sampled_from(["status", "log", "a b", "ü", "%", "finalize", "", "clusters", "t"])
starts = st.sampled_from(["", "/api/v1", "/apis/apps/v1", "/clusters/t/api/v1/namespaces/ns"])
paths = st.builds(
    lambda start, parts: start + "".join(f"/{quote(part)}" for part in parts) or "/",
    starts,
    st.lists(words, max_size=5),
)
selectors = st.sampled_from(
    [
        "a=b",
        "a in (b,c)",
        "metadata.name=x",
        "metadata.name==x,a=b",
        "metadata.name!=x",
        "!",
        "",
        "=",
    ]
)
queries = st.lists(
    st.tuples(
        st.sampled_from(["fieldSelector", "labelSelector", "watch", "limit"]),
        selectors | st.sampled_from(["1", "false", "true"]),
    ),
    max_size=3,
)
users = st.builds(
    User,
    st.sampled_from(["eve", "system:node:n", "ü"]),
    st.sampled_from(["", "u-1"]),
    st.sampled_from([(), ("dev",), ("dev", "system:authenticated")]),
    st.sampled_from([{}, {"acme.com/team": ("x", "y")}]),
)
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


@given(st.sampled_from(METHODS), paths, queries, users)
@example("GET", "/api/v1/watch/pods", [("fieldSelector", "metadata.name=x")], User("e"))
@example("PATCH", "/api/v1/pods", [("fieldSelector", "metadata.name=x")], User("e"))
@example("DELETE", "/api/v1/pods", [("fieldSelector", "metadata.name=x")], User("e"))
@example("GET", "/clusters/t/version", [("watch", "1")], User("e"))
def test_the_question_is_that_of_the_request(
    method: str, path: str, query: list[tuple[str, str]], user: User
) -> None:
    sent = "&".join(f"{name}={quote(value)}" for name, value in query)
    raw: dict[str, Any] = {"path": path, "raw_path": path.encode(), "query_string": sent.encode()}
    scope = {"type": "http", "method": method, "headers": [], **raw}
    request = ApiRequest(scope, receive_of())
    request.sender = user
    asked = _limited(request, attributes_of(request, user))
    trail = _trail(request, Recorder().verdict(asked))
    annotate(trail.annotations, Decision(False))
    spec = spec_of(orjson.loads(trail.event("ResponseComplete", 403)))
    again, _ = of_review(subject_of(spec), spec)
    if asked.is_resource:
        assert again._replace(user=user, path=asked.path) == asked
    else:
        assert (again.is_resource, again.verb, again.path) == (False, asked.verb, asked.path)
    assert again.user == user
