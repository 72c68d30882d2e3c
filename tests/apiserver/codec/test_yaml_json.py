"""JSON that is sent as YAML means what the YAML parser makes of it, whichever parser reads it."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.codec import yaml, yaml_json

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
)


def slowly(text: bytes) -> tuple[Any, list[str]] | str:
    """What the YAML parser alone says: a comment in front keeps the JSON parser away."""
    try:
        return yaml.loads(b"#\n" + text)
    except yaml.YAMLError as e:
        return re.sub(r"line \d+: ", "", str(e))


@given(
    st.dictionaries(st.text(max_size=5), values, max_size=4),
    st.booleans(),
    st.sampled_from([None, 1, "\t"]),
)
def test_both_parsers_agree(obj: Any, ascii_only: bool, indent: Any) -> None:
    text = json.dumps(obj, ensure_ascii=ascii_only, indent=indent).encode(errors="surrogatepass")
    read = yaml_json.read(text)
    if read is not None:
        value, errors = slowly(text)
        assert (json.dumps(read), errors) == (json.dumps(value), [])


@given(st.text(alphabet='{}[]",:\\/ \n\r1-0eE.abtn<#&*!', max_size=12))
def test_whatever_it_reads_yaml_reads_alike(inside: str) -> None:
    text = ("{" + inside + "}").encode()
    read = yaml_json.read(text)
    if read is not None:
        assert slowly(text) == (read, [])


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":NaN}',
        b'{"a":12345678901234567890}',
        b'{"a"\n:1}',
        b'{"a":"\\u0041"}',
        b"{a: b}",
    ],
)
def test_texts_of_which_yaml_must_decide(text: bytes) -> None:
    assert yaml_json.read(text) is None


def test_a_manifest_is_read() -> None:
    assert yaml_json.read(b'{"kind":"Pod","spec":{"x":[1,-2,true,null,"a\\n\\"b\\""]}}') == {
        "kind": "Pod",
        "spec": {"x": [1, -2, True, None, 'a\n"b"']},
    }
