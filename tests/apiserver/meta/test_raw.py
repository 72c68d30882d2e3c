"""Objects that keep their text."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver.meta import raw
from apiserver.meta.equality import semantic_equal
from apiserver.meta.raw import RawObject, way_of
from apiserver.patch.jsonpatch import apply_json_patch

WAY = way_of(("data", "spec.config[].opaque.parameters"))


def texts(value: Any, way: raw.Way = WAY) -> list[str]:
    return [found.text for found in raw.raws(value, way)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"data": {"b": 1,\n "a": 2}}', ['{"b": 1,\n "a": 2}']),
        (' { "x" : [1, {"data": {}}], "data" :{ } } ', ["{ }"]),
        ('{"d\\u0061ta": {"a": 1e3}}', ['{"a": 1e3}']),
        ('{"data": "text"}', []),
        ('{"data": null, "spec": 7}', []),
        ('{"data": {"a": 1}, "data": {"b":  2}}', ['{"b":  2}']),
        (
            '{"spec": {"config": [{"opaque": {"parameters": {"z": [ ]}}}, {}, 1, [],'
            ' {"opaque": {"x": "}", "parameters": { "n":123456789012345678901234567890}}}]}}',
            ['{"z": [ ]}', '{ "n":123456789012345678901234567890}'],
        ),
    ],
)
def test_the_text_is_that_of_the_field(text: str, expected: list[str]) -> None:
    value = raw.loads(text, WAY)
    assert sorted(texts(value)) == sorted(expected)
    assert value == orjson.loads(text)


def test_text_without_a_text_is_what_go_writes() -> None:
    value = RawObject({"b": [1.0, "<"], "a": {"d": None, "c": 1e21}})
    assert value.text == r'{"a":{"c":1e+21,"d":null},"b":[1,"\u003c"]}'


def test_equal_means_spelled_alike() -> None:
    one, spaced = RawObject({"a": 1}, '{"a":1}'), RawObject({"a": 1}, '{"a": 1}')
    assert one == RawObject({"a": 1})
    assert one != spaced
    assert {"spec": [one]} != {"spec": [spaced]}
    assert not semantic_equal({"spec": [one]}, {"spec": [spaced]})
    assert semantic_equal({"spec": [one]}, {"spec": [RawObject({"a": 1})]})
    assert spaced == {"a": 1}


@pytest.mark.parametrize("text", ['{"a": 1e-20000}', '{"a": %s}' % ("1" * 400), '{"a": "\\ud800"}'])
def test_a_text_that_cannot_be_stored_is_not_kept(text: str) -> None:
    assert RawObject({"a": 1}, text).text == '{"a":1}'


def test_what_is_written_is_what_was_read() -> None:
    text = '{"data":{"b": 1,  "a":[ ]},"spec":{"config":[{"opaque":{"parameters":{"x": "<"}}}]}}'
    assert raw.dumps(raw.loads(text, WAY)).decode() == text


def test_what_is_nested_too_deeply_is_not_written() -> None:
    deep = '{"data":' + '{"a":' * 300 + "1" + "}" * 301
    with pytest.raises(TypeError):
        raw.dumps(raw.loads(deep, WAY))


def test_plain_objects_share_what_is_not_on_the_way() -> None:
    value = raw.loads('{"data": {"a": 1}, "metadata": {}, "spec": {"config": [{}]}}', WAY)
    bare = raw.plain(value, WAY)
    assert type(bare["data"]) is dict
    assert bare["metadata"] is value["metadata"]
    assert bare == {"data": {"a": 1}, "metadata": {}, "spec": {"config": [{}]}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "<", "b": "a b\\" c"}', '{"a":"\\u003c","b":"a b\\" c"}'),
        ('{\n"a" :\t[ 1.0,\r\n{ } ] }', '{"a":[1.0,{}]}'),
    ],
)
def test_compact(text: str, expected: str) -> None:
    assert raw.compact(text) == expected


def test_a_patch_keeps_the_spelling_of_what_it_leaves_alone() -> None:
    old = raw.loads('{"data": {"b": 1.0, "a": "\\u0041"}, "x": 1}', WAY)
    left = raw.patched('{"data":{"b":1.0,"a":"A"},"x":2}', old, WAY)
    assert texts(left) == ['{"b":1.0,"a":"\\u0041"}']
    touched = raw.patched('{"data":{"a":"B","b":1.0},"x":1}', old, WAY)
    assert texts(touched) == ['{"a":"B","b":1.0}']


def test_a_json_patch_changes_a_copy() -> None:
    old = raw.loads('{"data": {"a": {"b": 1}}, "x": [{"data": 1}]}', WAY)
    new = apply_json_patch(old, [{"op": "add", "path": "/data/a/c", "value": 2}])
    assert new["data"] == {"a": {"b": 1, "c": 2}}
    assert type(new["data"]) is dict
    assert texts(old) == ['{"a": {"b": 1}}']
    assert old["data"] == {"a": {"b": 1}}
