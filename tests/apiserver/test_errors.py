"""What an answer says of errors, and how much of it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver.errors import (
    MOST_ERRORS,
    AlreadyExists,
    ApiError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from apiserver.fielderrors import FieldError, FieldPath, forbidden, invalid, required
from apiserver.kinds.common.objectmeta import shared_errors
from apiserver.meta.gvk import GroupKind, GroupResource
from tests.support import kindtools

MEBIBYTE = 1 << 20
POD = GroupKind("", "Pod")
PODS = GroupResource("", "pods")
WEIRD, QUOTED = 'a"\\\n\u00e9\u200b', '"a\\"\\\\\\n\u00e9\\u200b"'


def size(error: ApiError) -> int:
    return len(orjson.dumps(error.to_status()))


class Counted(FieldError):
    """Counts how often it is put into words."""

    told = 0

    def body(self) -> str:
        Counted.told += 1
        return super().body()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NotFound(PODS, WEIRD), f"pods {QUOTED} not found"),
        (AlreadyExists(PODS, WEIRD), f"pods {QUOTED} already exists"),
        (Forbidden(PODS, WEIRD, "why"), f"pods {QUOTED} is forbidden: why"),
        (Conflict(PODS, WEIRD, "w"), f"Operation cannot be fulfilled on pods {QUOTED}: w"),
        (Invalid(POD, WEIRD, [required("a")]), f"Pod {QUOTED} is invalid: a: Required value"),
    ],
)
def test_names_are_quoted_as_go_quotes(error: ApiError, text: str) -> None:
    assert error.message == text
    assert error.details and error.details["name"] == WEIRD


def test_a_few_errors_are_told_in_full() -> None:
    status = Invalid(
        POD, "p", [required("spec.a"), forbidden("spec.b", "x" * 50_000), required("spec.a")]
    ).to_status()
    long = f"Forbidden: {'x' * 50_000}"
    assert status["message"] == f'Pod "p" is invalid: [spec.a: Required value, spec.b: {long}]'
    assert [c["message"] for c in status["details"]["causes"]] == [
        "Required value",
        long,
        "Required value",
    ]


def test_a_thousand_errors_are_told_and_of_more_that_there_are_more() -> None:
    status = Invalid(
        POD, "p", [required(f"spec.a[{i}]") for i in range(MOST_ERRORS + 1)]
    ).to_status()
    assert len(status["details"]["causes"]) == MOST_ERRORS
    assert status["message"].endswith("spec.a[999]: Required value, and more errors]")
    status = Invalid(POD, "p", [required(f"spec.a[{i}]") for i in range(MOST_ERRORS)]).to_status()
    assert len(status["details"]["causes"]) == MOST_ERRORS
    assert status["message"].endswith("spec.a[999]: Required value]")


def test_only_what_is_told_is_put_into_words() -> None:
    value = ["a" * 20] * 3000
    Counted.told = 0
    error = Invalid(
        POD, "p", [Counted(required("").type.INVALID, "spec", value, "no") for _ in range(8000)]
    )
    assert Counted.told < 20
    assert size(error) < MEBIBYTE


@pytest.mark.parametrize("letter", ["a", '"', "\\", "\x01", "\n", "ä", "中", "😀", "<"])
@pytest.mark.parametrize(
    "make",
    [
        lambda text: Invalid(POD, text, [invalid("spec", text, text)]),
        lambda text: Invalid(POD, "p", [invalid(text, i, "no") for i in range(3)]),
        lambda text: NotFound(GroupResource("", "pods"), text),
        lambda text: BadRequest(text),
        lambda text: ApplyConflict(text, [(text, text)]),
    ],
)
def test_no_text_makes_an_answer_of_a_mebibyte(letter: str, make: Any) -> None:
    error = make(letter * (3 << 20))
    assert size(error) < MEBIBYTE
    assert "more characters)" in error.to_status()["message"]


def test_conflicts_are_bounded() -> None:
    conflicts = [('conflict with "kubectl" using v1', f".data.key{i}") for i in range(100_000)]
    error = ApplyConflict(f"Apply failed with {len(conflicts)} conflicts", conflicts)
    assert size(error) < MEBIBYTE
    assert error.to_status()["details"]["causes"][0]["field"] == ".data.key0"


def test_a_thousand_controllers_do_not_quote_all_owners_a_thousand_times() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "A", "name": "a", "uid": f"u{i}", "controller": True}
        for i in range(1000)
    ]
    errors = shared_errors({"ownerReferences": owners}, FieldPath("metadata"))
    assert len(errors) == 999
    assert size(Invalid(POD, "p", errors)) < MEBIBYTE


def test_thousands_of_unknown_scopes_do_not_quote_all_scopes_thousands_of_times() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"scopes": [f"s{i}" for i in range(8000)]},
    }
    assert size(Invalid(POD, "q", kindtools.create(quota).errors)) < MEBIBYTE
