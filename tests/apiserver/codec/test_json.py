import json as stdlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.codec import json
from apiserver.golang.json import go_float

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"", "unexpected end of JSON input"),
        (b"hello", "invalid character 'h' looking for beginning of value"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"{a: b}", "invalid character 'a' looking for beginning of object key string"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[nul", "invalid character ' ' in literal null (expecting 'l')"),
        (b"[-", "invalid character ' ' in numeric literal"),
        (b"[1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"[1e", "invalid character ' ' in exponent of numeric literal"),
        (b'["\\', "invalid character ' ' in string escape code"),
        (b'["\\u1', "invalid character ' ' in \\u hexadecimal character escape"),
        (b'["a', "unexpected end of JSON input"),
        (b"trux", "invalid character 'x' in literal true (expecting 'e')"),
        (b"-a", "invalid character 'a' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b"[nul", "invalid character ' ' in literal null (expecting 'l')"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b'{"a":1.', "invalid character ' ' after decimal point in numeric literal"),
        (b"1e", "invalid character ' ' in exponent of numeric literal"),
        (b'"a\\', "invalid character ' ' in string escape code"),
        (b'"\\u12', "invalid character ' ' in \\u hexadecimal character escape"),
        (b'"abc', "unexpected end of JSON input"),
        (b'"\\q"', "invalid character 'q' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"'a'", "invalid character '\\'' looking for beginning of value"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"[" * 20_000, "exceeded max depth"),
        (b"[1e999]", "json: cannot unmarshal number 1e999 into Go value of type float64"),
    ],
)
def test_what_is_not_json_is_refused_in_gos_words(text: bytes, error: str) -> None:
    with pytest.raises(json.JSONError) as e:
        json.loads(text)
    assert str(e.value) == error


def test_members_given_twice_are_named_with_their_paths_and_the_last_one_wins() -> None:
    value, errors = json.loads(b'{"l":[{"x":1,"x":2,"x":3}],"a":{"b.c":1,"b.c":2},"l":5}')
    assert value == {"l": 5, "a": {"b.c": 2}}
    assert errors == ['duplicate field "l[0].x"', 'duplicate field "a.b.c"', 'duplicate field "l"']


def test_decoding_into_a_type_merges_what_is_given_twice() -> None:
    value, errors = json.loads(
        b'{"data":{"a":"1"},"l":[{"p":1},{"q":2}],"data":{"b":"2"},"l":[{"r":3}]}', merge=True
    )
    assert value == {"data": {"a": "1", "b": "2"}, "l": [{"p": 1, "r": 3}]}
    assert errors == ['duplicate field "data"', 'duplicate field "l"']


def test_at_most_a_hundred_duplicates_are_reported() -> None:
    body = "{" + ",".join(f'"k{i}":1,"k{i}":2' for i in range(200)) + "}"
    assert len(json.loads(body.encode())[1]) == 100


def test_numbers_beyond_64_bits_are_floats() -> None:
    value, _ = json.loads(
        b"[9223372036854775807,9223372036854775808,-9223372036854775809,1.0,123456789012345678901234567890]"
    )
    assert [type(v) for v in value] == [int, float, float, float, float]


def test_lone_surrogates_and_broken_utf8_become_the_replacement_character() -> None:
    assert json.loads(b'{"\\ud800k":["a\\udc00","\\ud83d\\ude00"]}')[0] == {
        "\ufffdk": ["a\ufffd", "😀"]
    }
    assert json.loads(b'"a\xffb"')[0] == "a\ufffdb"


def test_kind_comes_first_and_html_characters_are_escaped() -> None:
    out = json.dumps({"spec": "<&>\u2028", "metadata": {}, "kind": "K", "apiVersion": "v1"})
    assert (
        out
        == b'{"kind":"K","apiVersion":"v1","metadata":{},"spec":"\\u003c\\u0026\\u003e\\u2028"}\n'
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (0.1, "0.1"),
    ],
)
def test_floats_print_as_in_go(number: float, text: str) -> None:
    assert json.dumps({"a": [number]}) == b'{"a":[%s]}\n' % text.encode()


def test_pretty_output_is_indented_and_has_no_newline_at_its_end() -> None:
    assert (
        json.dumps_pretty({"metadata": {}, "kind": "K", "a": []})
        == b'{\n  "kind": "K",\n  "metadata": {},\n  "a": []\n}'
    )


def test_depth_beyond_the_encoders_limit_still_prints() -> None:
    value: object = 1
    for _ in range(300):
        value = [value]
    assert json.loads(json.dumps(value))[0] == value


@given(VALUES)
def test_what_is_written_reads_back(value: object) -> None:
    read, errors = json.loads(json.dumps(value))
    assert errors == []
    assert stdlib.loads(stdlib.dumps(read), parse_int=float) == stdlib.loads(
        stdlib.dumps(value), parse_int=float
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_value(value: float) -> None:
    assert float(go_float(value)) == value


@given(
    st.binary(max_size=40)
    | st.text('{}[]",:0123456789.eE+-\\untrfals \n', max_size=40).map(str.encode)
)
def test_an_error_is_found_exactly_where_the_standard_library_finds_one(data: bytes) -> None:
    try:
        expected = stdlib.loads(
            data.decode(errors="replace"), parse_constant=lambda c: 1 / 0, parse_int=float
        )
    except (ValueError, ZeroDivisionError):
        with pytest.raises(json.JSONError):
            json.loads(data)
    else:
        assert json.loads(data)[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        '{"a" :{"b":1},"c":[{"b":1,"b" : 2}]}',
        '{"a":"\\":","b":"x\\":y"}',
        '{"a":9223372036854775808,"b":-9223372036854775809,"c":18446744073709551616}',
        '{"a":' + "[" * 100 + "]" * 100 + "}",
        '[{"a":1},{"a":-0,"b":-0.0}]',
        '{"a":"\\ud83d\\ude00","b":"\\ud800"}',
    ],
)
def test_the_quick_way_reads_what_the_careful_one_does(text: str) -> None:
    hook = json._Hook()
    careful = json._parse(text.encode(), hook)
    quick = json._quickly(text.encode())
    assert quick is None if hook.repeated else quick is None or repr(quick) == repr(careful)
