"""Label selectors: what they match, how they print, and that the two agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.fielderrors import FieldPath
from apiserver.kinds.common import selectors
from apiserver.meta.labels import parse_label_selector
from apiserver.schema.labelselector import validate_label_selector

KEYS = st.sampled_from("abc")
VALUES = st.sampled_from(["x", "y", ""])
LABELS = st.dictionaries(KEYS, VALUES)
SETS = st.builds(
    lambda k, o, v: {"key": k, "operator": o, "values": v},
    KEYS,
    st.sampled_from(["In", "NotIn"]),
    st.lists(VALUES, min_size=1),
)
BARE = st.builds(
    lambda k, o: {"key": k, "operator": o}, KEYS, st.sampled_from(["Exists", "DoesNotExist"])
)
SELECTORS = st.fixed_dictionaries(
    {}, optional={"matchLabels": LABELS, "matchExpressions": st.lists(SETS | BARE, max_size=3)}
)


@given(SELECTORS, LABELS)
def test_a_selector_matches_as_its_text_does(
    selector: dict[str, Any], labels: dict[str, str]
) -> None:
    assert not selectors.problem(selector)
    if not selectors.is_empty(selector):
        assert selectors.matches(selector, labels) == parse_label_selector(
            selectors.show(selector)
        ).matches(labels)


def test_nothing_and_everything() -> None:
    assert not selectors.matches(None, {"a": "b"})
    assert selectors.matches({}, None)
    assert (selectors.show(None), selectors.show({})) == ("<none>", "<none>")


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (
            {"key": "a", "operator": "In"},
            "s.matchExpressions[0].values: Required value: must be specified when `operator` is "
            "'In' or 'NotIn'",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            "s.matchExpressions[0].values: Forbidden: may not be specified when `operator` is "
            "'Exists' or 'DoesNotExist'",
        ),
        (
            {"key": "a", "operator": "Gt"},
            's.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator',
        ),
    ],
)
def test_requirements(requirement: dict[str, Any], message: str) -> None:
    assert [
        str(e) for e in validate_label_selector({"matchExpressions": [requirement]}, FieldPath("s"))
    ] == [message]
