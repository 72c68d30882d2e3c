from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import (
    controller_of,
    copy_json,
    gvk_of,
    metadata,
)


def test_reading_an_object_that_lacks_everything() -> None:
    for obj in (
        {},
        {"metadata": None},
        {"metadata": {"name": None, "ownerReferences": None}},
        {"metadata": []},
    ):
        assert controller_of(obj) is None


def test_missing_metadata_is_not_made() -> None:
    obj: dict[str, Any] = {}
    metadata(obj)["name"] = "lost"
    assert obj == {}


def test_kind_and_version() -> None:
    assert gvk_of({"apiVersion": "apps/v1", "kind": "Deployment"}) == GroupVersionKind(
        "apps", "v1", "Deployment"
    )
    assert gvk_of({"apiVersion": "v1"}) == GroupVersionKind("", "v1", "")
    with pytest.raises(ValueError, match="unexpected GroupVersion string: a/b/c"):
        gvk_of({"apiVersion": "a/b/c"})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


@given(json_values)
def test_copies_are_equal_and_share_no_container(value: Any) -> None:
    before = copy.deepcopy(value)
    copied = copy_json(value)
    assert copied == value
    _spoil(copied)
    assert value == before


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            _spoil(inner)
        value["spoilt"] = True
    elif isinstance(value, list):
        for inner in value:
            _spoil(inner)
        value.append("spoilt")


def test_there_is_one_word_for_a_json_object() -> None:
    root = Path(__file__).parents[3]
    meanings = [
        str(path.relative_to(root))
        for package in ("apiserver", "admission", "controlplane")
        for path in (root / package).rglob("*.py")
        if re.search(r"^(ReadOnly)?Object(: TypeAlias)? = ", path.read_text(), re.MULTILINE)
    ]
    assert meanings == ["apiserver/meta/objects.py"]
