"""What is said of CBOR bodies that cannot be read."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest

from apiserver.codec import cbor_body
from apiserver.codec.body import BodyError
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode import DecodeError, decode

CONFIG_MAP = schema_for(GroupVersionKind("", "v1", "ConfigMap"))
POD = schema_for(GroupVersionKind("", "v1", "Pod"))
HEAD = {"apiVersion": "v1", "kind": "ConfigMap"}
REPEATED = b"\xa3\x4aapiVersion\x42v1\x44kind\x49ConfigMap\x44data\xa2\x41a\x41b\x41a\x41c"


def test_all_spellings_of_an_object_are_read() -> None:
    indefinite = b"\xd9\xd9\xf7\xbf\x44kind\x7f\x66Config\x63Map\xff\x6aapiVersion\x42v1\xff"
    assert cbor_body.read(indefinite) == cbor_body.read(cbor2.dumps(HEAD)) == HEAD
    assert cbor_body.read(cbor2.dumps(None)) == {}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "EOF"),
        (cbor2.dumps(HEAD)[:-1], "unexpected EOF"),
        (
            cbor2.dumps(HEAD) + b"\0\0",
            f"cbor: 2 bytes of extraneous data starting at index {len(cbor2.dumps(HEAD))}",
        ),
        (
            b"\xa2\x64kind\x61a\x64k\xffnd\x61b",
            "cbor: invalid UTF-8 string",
        ),
        (
            b"\xd9\xd9\xf7\xbf\x64data\xa1\x61a\x61b\x64kind\x61\xff\xff",
            "cbor: invalid UTF-8 string",
        ),
        (
            b"\xa2\x44kind\x41a\x44kind\x41b",
            'cbor: found duplicate map key "kind" at map element index 1',
        ),
        (
            cbor2.dumps({**HEAD, "kind": -3}),
            "cbor: cannot unmarshal negative integer into Go struct field v1.TypeMeta.kind of type "
            "string",
        ),
        (
            cbor2.dumps([1]),
            "cbor: cannot unmarshal array into Go value of type v1.TypeMeta (cannot decode CBOR "
            "array to struct without toarray option)",
        ),
    ],
)
def test_bodies_that_hide_their_kind(data: bytes, text: str) -> None:
    with pytest.raises(BodyError) as e:
        cbor_body.read(data)
    assert str(e.value) == f"unable to determine group/version/kind: {text}"


def test_what_is_wrong_further_down_leaves_the_kind_known() -> None:
    with pytest.raises(
        cbor_body.Refused, match=r'^cbor: found duplicate map key "a" at map element index 1$'
    ):
        cbor_body.read(REPEATED)
    with pytest.raises(cbor_body.Refused, match=r"^cbor: invalid UTF-8 string$"):
        cbor_body.read(b"\xa2\x44kind\x41a\x44data\xa1\x61\xff\x61b")


@pytest.mark.parametrize(
    ("schema", "members", "text"),
    [
        (
            CONFIG_MAP,
            {"metadata": {"name": 1}},
            "positive integer into Go struct field v1.ConfigMap.metadata of type string",
        ),
        (
            CONFIG_MAP,
            {"data": {"a": True}},
            "primitives into Go struct field v1.ConfigMap.data of type string",
        ),
        (
            CONFIG_MAP,
            {"data": "x"},
            "UTF-8 text string into Go struct field v1.ConfigMap.data of type map[string]string",
        ),
        (
            CONFIG_MAP,
            {"metadata": {"generation": 1.5}},
            "primitives into Go struct field v1.ConfigMap.metadata of type int64",
        ),
        (
            POD,
            {"spec": {"priority": 2**40}},
            f"positive integer into Go struct field v1.Pod.spec of type int32 ({2**40} overflows "
            f"int32)",
        ),
        (
            POD,
            {"spec": {"containers": [{"name": "a"}, {"name": -1}]}},
            "negative integer into Go struct field v1.Pod.spec of type string",
        ),
        (
            POD,
            {"spec": []},
            "array into Go struct field v1.Pod.spec of type v1.PodSpec (cannot decode CBOR array "
            "to struct without toarray option)",
        ),
    ],
)
def test_wrong_types(schema: Any, members: dict[str, Any], text: str) -> None:
    with pytest.raises(DecodeError) as e:
        decode(schema, members)
    assert (
        cbor_body.type_text(str(e.value), members, schema.go_type)
        == f"cbor: cannot unmarshal {text}"
    )


UNKNOWN_BELOW = {"containers": [{"name": "a"}, {"name": "b", "image": "i", "x": 1, "y": 2}]}


@pytest.mark.parametrize(
    ("value", "count", "index"),
    [
        ({"kind": "Pod", "spec": UNKNOWN_BELOW}, 2, 2),
        ({"spec": UNKNOWN_BELOW, "kind": "Pod", "metadata": {}, "z": 3}, 3, 3),  # its own first
        ({"metadata": {"name": "n", "q": 1}, "spec": UNKNOWN_BELOW}, 3, 1),  # in their order
        ({"spec": {"w": 1, **UNKNOWN_BELOW}}, 3, 0),
        ({"metadata": {"a.b": 1, "a": {"b": 1}}}, 2, 0),
        (
            {"spec": {"volumes": [{"name": "v"}, {"name": "w", "csi": {"driver": "d", "x": 1}}]}},
            1,
            1,
        ),
    ],
)
def test_an_unknown_member_is_told_by_its_place(
    value: dict[str, Any], count: int, index: int
) -> None:
    errors = decode(POD, value).strict
    assert len(errors) == count
    assert cbor_body.unknown_texts(errors, value) == [
        f"cbor: found unknown field at map element index {index}"
    ]


def test_without_unknown_members_nothing_is_told() -> None:
    assert cbor_body.unknown_texts([], {"kind": "Pod"}) == []


def repeated(*keys: str, **members: bytes) -> bytes:
    """A map of these keys, each of which may come again; ``members``: what they hold but 0."""
    pairs = b"".join(cbor2.dumps(key) + members.get(key, b"\0") for key in keys)
    return bytes([0xA0 + len(keys)]) + pairs


@pytest.mark.parametrize(
    ("body", "key", "index"),
    [
        # the first one that is reached in the document, not the one with the smallest place
        (
            repeated("a", "b", a=repeated("x", "y", "z", "z"), b=repeated("u", "u")),
            "z",
            3,
        ),
        # a map's own before what is further down, though that is reached first
        (repeated("a", "b", "b", a=repeated("x", "x")), "b", 2),
        # in lists, and the first of several
        (repeated("a", a=b"\x82\0" + repeated("x", "y", "y", "x")), "y", 2),
        (repeated("a", a=b"\x9f" + repeated("x", "x") + b"\xff"), "x", 1),
    ],
)
def test_a_repeated_key_is_told_by_its_place(body: bytes, key: str, index: int) -> None:
    head = b"\xa3" + cbor2.dumps(HEAD)[1:] + cbor2.dumps("data") + body
    with pytest.raises(cbor_body.Refused) as e:
        cbor_body.read(head)
    assert str(e.value) == f'cbor: found duplicate map key "{key}" at map element index {index}'
