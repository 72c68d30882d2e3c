"""What every request goes through takes time by the size of the request: patches, duplicates,
headers, warnings, logs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from apiserver.codec import json, negotiate, strict
from apiserver.fielderrors import required
from apiserver.golang.strconv import go_quote
from apiserver.kinds.declarative import run
from apiserver.kinds.declarative.run import DEFAULT_GATES, Subject
from apiserver.patch.strategic import apply_strategic_patch
from apiserver.registry.mutation import drop_doubled_owners
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User
from tests.support import kindtools
from tests.support.growth import assert_linear

Work = Callable[[], Any]
_fresh = count()
POD = kindtools.resource_of(kindtools.pod())[0]
SCHEMA = POD.versions["v1"].schema


def scope() -> Scope:
    return Scope(Tenant(1, "t"), POD, POD.versions["v1"], User("ann"), "ns", "p")


def finalizers(n: int) -> Work:
    old, new = (
        {"metadata": {"finalizers": [f"{text}/{i}" for i in range(n)]}} for text in ("a", "b")
    )
    return lambda: apply_strategic_patch(old, new, SCHEMA)


def repeated_finalizers(n: int) -> Work:
    old, new = (
        {"metadata": {"finalizers": [f"a/{i % (n // 2)}" for i in range(n)]}} for _ in range(2)
    )
    return lambda: apply_strategic_patch(old, new, SCHEMA)


def containers(n: int) -> Work:
    old, new = (
        {"spec": {"containers": [{"name": f"{text}{i}"} for i in range(n)]}} for text in ("a", "b")
    )
    return lambda: apply_strategic_patch(old, new, SCHEMA)


def ordered_containers(n: int) -> Work:
    listed = [{"name": f"a{i}"} for i in range(n)]
    old, new = (
        {"spec": {"containers": listed}},
        {"spec": {"$setElementOrder/containers": listed[::-1]}},
    )
    return lambda: apply_strategic_patch(old, new, SCHEMA)


def deleted_containers(n: int) -> Work:
    listed = [{"name": f"a{i}"} for i in range(n)]
    new = {"spec": {"containers": [{"$patch": "delete", **c} for c in listed]}}
    return lambda: apply_strategic_patch({"spec": {"containers": listed}}, new, SCHEMA)


def owners(n: int) -> Work:
    obj = {
        "metadata": {
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "A", "name": "a", "uid": f"u{i}"} for i in range(n)
            ]
        }
    }
    return lambda: asyncio.run(drop_doubled_owners(scope(), scope().asker(0), obj))


def warnings(n: int) -> Work:
    texts = [f"a{i}" for i in range(n)]

    def work() -> None:
        where = scope()
        for text in texts:
            where.warn(text)

    return work


def members_given_again(n: int) -> Work:
    members = ",".join(f'"k{i}":1' for i in range(n))
    again = ',"a":{}' * n
    text = f'{{"a":{{{members}}}{again}}}'.encode()
    return lambda: json.loads(text, merge=True)


def media_types(n: int) -> Work:
    header = ",".join(
        ["*/*"] * n + [f"a/b{next(_fresh)}"] * n
    )  # one that has not been seen: short ones are remembered
    return lambda: negotiate.parse_accept(header)


CASES: dict[str, tuple[Callable[[int], Work], int]] = {
    "a set with another merged into it": (finalizers, 700),
    "sets with repetitions": (repeated_finalizers, 700),
    "a list merged by key": (containers, 1500),
    "a list with its order": (ordered_containers, 1500),
    "a list of which all is deleted": (deleted_containers, 1500),
    "owners": (owners, 2500),
    "warnings": (warnings, 6000),
    "an object that is given again and again": (members_given_again, 4000),
    "media types": (media_types, 2500),
}


@pytest.mark.parametrize("case", CASES)
def test_work_is_linear(case: str) -> None:
    make, count = CASES[case]
    assert_linear(make, count)


def test_warnings_that_no_header_has_room_for_are_not_kept() -> None:
    where = scope()
    for i in range(3 * strict.MOST_WARNINGS):
        where.warn(f"warning {i}")
    assert len(where.warnings) == strict.MOST_WARNINGS
    assert strict.warning_headers(where.warnings) == strict.warning_headers(
        [f"warning {i}" for i in range(3 * strict.MOST_WARNINGS)]
    )


def test_a_long_accept_header_is_sorted_by_what_the_client_likes_best() -> None:
    header = ",".join(
        [
            *(f"a/b;q=0.{i}" for i in range(1, 10)),
            *["*/*;q=0.95", "text/*;q=0.95", "text/html;q=0.95"] * 2,
        ]
    )
    found = [(c.type, c.subtype, c.q) for c in negotiate.parse_accept(header)]
    assert (
        found[:6]
        == [("text", "html", 0.95)] * 2 + [("text", "*", 0.95)] * 2 + [("*", "*", 0.95)] * 2
    )
    assert [q for _, _, q in found] == sorted((q for _, _, q in found), reverse=True)


def test_one_object_makes_one_line_of_log(caplog: pytest.LogCaptureFixture) -> None:
    written = [required(f"spec.a[{i}].{'x' * 10_000}") for i in range(50)]
    for error in written:
        error.origin = ""
    subject = Subject("Pod", "v1", SCHEMA, {})
    before = run.MISMATCHES[subject.identifier]
    with caplog.at_level(logging.ERROR):
        run._compare(subject, written, [], DEFAULT_GATES)
    assert run.MISMATCHES[subject.identifier] == before + 50
    assert len(caplog.records) == 1
    assert len(caplog.records[0].getMessage()) < 1000
    assert "and 49 more" in caplog.records[0].getMessage()


def test_quoting_escapes_what_go_escapes() -> None:
    assert go_quote('a"\\\n\x00\x7f\u00a0\u00e9\u200b\U0001f600\U000e0001') == (
        '"a\\"\\\\\\n\\x00\\x7f\\u00a0\u00e9\\u200b\U0001f600\\U000e0001"'
    )
