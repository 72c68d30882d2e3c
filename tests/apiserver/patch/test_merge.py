from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.meta.objects import copy_json
from apiserver.patch.merge import apply_merge_patch


@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        # RFC 7386, appendix A, as far as both sides are objects
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        # nulls inside lists
        ({}, {"a": [None, {"b": None}]}, {"a": [None, {}]}),
        ({"a": [1]}, {"a": [{"b": None, "c": [None]}]}, {"a": [{"c": [None]}]}),
        ({"a": {"x": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_cases(doc: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    assert apply_merge_patch(doc, patch) == result


VALUES = st.recursive(
    st.none() | st.integers(0, 3),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("abc"), v, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def rfc7386(target: Any, patch: Any) -> Any:
    """The RFC's pseudo code, word for word."""
    if isinstance(patch, dict):
        made = dict(target) if isinstance(target, dict) else {}
        for name, value in patch.items():
            if value is None:
                made.pop(name, None)
            else:
                made[name] = rfc7386(made.get(name), value)
        return made
    return patch


def without_nulls_in_lists(value: Any, in_list: bool = False) -> Any:
    if isinstance(value, dict):
        return {
            k: without_nulls_in_lists(v, in_list)
            for k, v in value.items()
            if not (in_list and v is None)
        }
    return [without_nulls_in_lists(v, True) for v in value] if isinstance(value, list) else value


@given(OBJECTS, OBJECTS)
def test_the_rfcs_algorithm_gives_the_same_but_for_nulls_in_lists(
    doc: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = copy_json((doc, patch))
    made = apply_merge_patch(doc, patch)
    assert without_nulls_in_lists(made) == without_nulls_in_lists(rfc7386(doc, patch))
    assert (doc, patch) == before


@given(OBJECTS, OBJECTS)
def test_the_result_shares_nothing_with_the_patch(
    doc: dict[str, Any], patch: dict[str, Any]
) -> None:
    """Which is applied once more when another write came first."""
    before = copy_json(patch)
    _spoil(apply_merge_patch(doc, patch))
    assert patch == before


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for member in value.values():
            _spoil(member)
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.append("spoilt")
