import pytest
import yaml as library
from hypothesis import given
from hypothesis import strategies as st

from apiserver.codec import yaml
from apiserver.meta.raw import RawObject

NULL_KEY = "unsupported map key of type: %!s(<nil>), key: <nil>, value: "


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            b"apiVersion: v1\n\tkind: ConfigMap\n",
            "yaml: line 2: found a tab character that violates indentation",
        ),
        (
            b"apiVersion: v1\nkind: ConfigMap\n  metadata: [unclosed\n",
            "yaml: line 3: mapping values are not allowed in this context",
        ),
        (b"a: [b\n", "yaml: line 1: did not find expected ',' or ']'"),
        (b"a: *x\n", "yaml: unknown anchor 'x' referenced"),
        (b"a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        (b"a: \x01", "yaml: control characters are not allowed"),
        (b"- .inf", "json: unsupported value: +Inf"),
        (b"a: {<<: 1}", "yaml: map merge requires map or sequence of maps as the value"),
        (b"a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"a: {~: [1, b]}", f'{NULL_KEY}[]interface {{}}{{1, "b"}}'),
        (b"~: {b: 1.5}", f'{NULL_KEY}map[interface {{}}]interface {{}}{{"b":1.5}}'),
        (b"~: ~", f"{NULL_KEY}<nil>"),
    ],
)
def test_errors_are_gos(text: bytes, error: str) -> None:
    with pytest.raises(yaml.YAMLError) as e:
        yaml.loads(text)
    assert str(e.value) == error


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("n", False),
        ("~", None),
        ("0644", 420),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("1.0", 1),
        ("1e3", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("12:30:45", "12:30:45"),
        ("2001-12-14", "2001-12-14"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1),
        ("!!binary aGk=", "hi"),
        ("18446744073709551615", 1.8446744073709552e19),
        ("08", 8),
        ("1.2.3", "1.2.3"),
        ("yEs", "yEs"),
    ],
)
def test_plain_scalars_mean_what_go_yaml_takes_them_for(scalar: str, value: object) -> None:
    read = yaml.loads(f"a: {scalar}".encode())[0]["a"]
    assert read == value and isinstance(read, bool) == isinstance(value, bool)


def test_keys_become_strings() -> None:
    assert yaml.loads(b"1: a\ntrue: b\n1.5: c\n")[0] == {"1": "a", "true": "b", "1.5": "c"}


def test_only_the_first_document_counts_and_none_is_null() -> None:
    assert yaml.loads(b"---\na: 1\n---\nb: [") == ({"a": 1}, [])
    assert yaml.loads(b"") == (None, [])


def test_keys_given_twice_are_one_error_with_a_line_each() -> None:
    value, errors = yaml.loads(b"a: 1\na: 2\nb:\n  c: 1\n  c: 2\n1: x\n'1': z\n")
    assert value == {"a": 2, "b": {"c": 2}, "1": "z"}
    assert errors == [
        'yaml: unmarshal errors:\n  line 2: key "a" already set in map\n  line 5: key "c" already '
        "set in map"
    ]


def test_merge_keys_merge() -> None:
    assert yaml.loads(b"a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  z: 3\n")[0]["b"] == {
        "x": 1,
        "true": 2,
        "z": 3,
    }


def test_aliases_cannot_blow_a_small_text_up() -> None:
    bomb = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9))
        for c in range(ord("b"), ord("j"))
    )
    with pytest.raises(yaml.YAMLError, match="excessive aliasing"):
        yaml.loads(bomb)


def test_output_is_laid_out_as_gos() -> None:
    out = yaml.dumps(
        {
            "b": [{"y": 1, "x": "1"}],
            "a": {"text": "one\ntwo\n", "on": "on", "e": {}, "f": 2.5, "none": None},
        }
    )
    assert out.decode() == (
        'a:\n  e: {}\n  f: 2.5\n  none: null\n  "on": "on"\n  text: |\n    one\n    two\nb:\n- x: '
        '"1"\n  "y": 1\n'
    )


def test_what_keeps_its_own_text_is_an_object_like_any_other() -> None:
    raw = RawObject({"b": 1, "a": {"c": None}}, '{"b":1, "a":{"c":null}}')
    assert yaml.dumps({"data": raw}) == b"data:\n  a:\n    c: null\n  b: 1\n"


JSONLIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(categories=["L", "N"]), max_size=5), inner)
    ),
    max_leaves=12,
)


@given(JSONLIKE)
def test_what_is_written_reads_back_here_and_elsewhere(value: object) -> None:
    text = yaml.dumps(value)
    assert yaml.loads(text) == (value, [])
    if "=" not in str(value):
        assert library.safe_load(text) is not Ellipsis


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("2026-11-22T22:14:16Z", True),
        ("2026-1-2t3:4:5.678+01:00", True),
        ("2026-1-2 3:4:5", True),
        ("0000-02-29", True),
        ("2026-02-30", False),
        ("2026-01-02T24:00:00Z", False),
        ("2026-01-02T03:04:05", False),
        ("2026-01", False),
        ("v2026-01-02", False),
    ],
)
def test_what_go_yaml_takes_for_a_timestamp_is_quoted(text: str, quoted: bool) -> None:
    written = yaml.dumps([text])
    assert (written == f'- "{text}"\n'.encode()) is quoted
    assert yaml.loads(written)[0] == [text]
