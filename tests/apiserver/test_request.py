"""What a path is about."""

from __future__ import annotations

import pytest

from apiserver.request import parse_request


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_the_old_proxy_path_is_a_verb_of_its_own_and_no_alias(method: str) -> None:
    info = parse_request(method, "/api/v1/proxy/namespaces/a/secrets/b")
    assert (info.verb, info.namespace, info.resource, info.name) == ("proxy", "a", "secrets", "b")


def test_the_old_watch_path_watches() -> None:
    assert parse_request("GET", "/api/v1/watch/namespaces/a/secrets").verb == "watch"
