"""Lists made item by item are the lists that would be made as a whole, and never held."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import cbor2
import orjson
import pytest

from apiserver.codec import cbor, negotiate, protobuf, yaml
from apiserver.codec import json as json_codec
from apiserver.codec.negotiate import Accepted
from apiserver.endpoints.encodings import BY_MEDIA_TYPE
from apiserver.endpoints.encodings.base import ListBody
from apiserver.endpoints.encodings.json import joined_stored
from apiserver.endpoints.encodings.protobuf import ENCODED_TWICE
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
HEAD = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}}


def config_map(i: int) -> dict[str, Any]:
    return {
        "metadata": {"name": f"c{i}"},
        "data": {"text": "a line\nanother: <one>\n", "long": "word " * 40},
        "binaryData": {"b": "AAE="},
    }


def body(count: int) -> ListBody:
    def items() -> Iterator[dict[str, Any]]:
        return (config_map(i) for i in range(count))

    return ListBody(dict(HEAD), "items", items, count, CONFIG_MAP, schema_for(CONFIG_MAP))


def whole(count: int) -> dict[str, Any]:
    return {**HEAD, "items": [config_map(i) for i in range(count)]}


def joined(made: ListBody, kind: Accepted) -> bytes:
    return b"".join(BY_MEDIA_TYPE[kind.media_type].list_parts(made, pretty=kind.pretty))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_text_is_that_of_the_whole_list(count: int) -> None:
    assert joined(body(count), Accepted(negotiate.JSON)) == json_codec.dumps(whole(count))
    assert joined(body(count), Accepted(negotiate.JSON, pretty=True)) == json_codec.dumps_pretty(
        whole(count)
    )
    assert joined(body(count), Accepted(negotiate.YAML)) == yaml.dumps(whole(count))


@pytest.mark.parametrize("count", [0, 1, 30])
def test_cbor_is_that_of_the_whole_list(count: int) -> None:
    assert joined(body(count), Accepted(negotiate.CBOR)) == cbor.dumps(whole(count))


@pytest.mark.parametrize("count", [0, 2, ENCODED_TWICE + 1])
def test_protobuf_is_read_back(count: int) -> None:
    read = protobuf.decode(joined(body(count), Accepted(negotiate.PROTOBUF)))
    assert {**read, "items": read["items"] or []} == whole(count)


def test_rows_come_last_in_a_table() -> None:
    head = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [{"name": "Name"}],
    }
    rows = [{"cells": ["a"], "object": None}, {"cells": ["b"], "object": None}]
    table = ListBody(head, "rows", lambda: iter(rows), 2, CONFIG_MAP)
    for kind in (Accepted(negotiate.JSON), Accepted(negotiate.JSON, pretty=True)):
        assert orjson.loads(joined(table, kind)) == {**head, "rows": rows}
    assert yaml.loads(joined(table, Accepted(negotiate.YAML)))[0] == {**head, "rows": rows}


class Item:
    def __init__(self, i: int) -> None:
        self.json = orjson.dumps(
            {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"c{i}"}}
        )


@pytest.mark.parametrize(("count", "at_once"), [(0, 1), (1, 1), (5, 2), (5, 5), (4, 2)])
def test_stored_bytes_are_joined_without_their_kind(count: int, at_once: int) -> None:
    items = [Item(i) for i in range(count)]
    text = b"".join(
        joined_stored(len('{"kind":"ConfigMap","apiVersion":"v1",'), HEAD, items, at_once)
    )
    assert orjson.loads(text) == {
        **HEAD,
        "items": [{"metadata": {"name": f"c{i}"}} for i in range(count)],
    }


@pytest.mark.parametrize("media_type", negotiate.ALL)
def test_a_large_list_is_never_held(media_type: str) -> None:
    """5,000 objects are more than 1 MB in any encoding; one object at a time is far less."""
    encoding = BY_MEDIA_TYPE[media_type]
    consumed = encoding.list_parts(body(50))
    sum(map(len, consumed))  # what is compiled once is compiled now
    tracemalloc.start()
    try:
        size = sum(map(len, encoding.list_parts(body(5000))))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 1_000_000 and peak < 700_000


def test_cbor_items_are_one_array() -> None:
    value = cbor2.loads(joined(body(300), Accepted(negotiate.CBOR)))
    inner = getattr(value, "value", value)
    assert len(inner[b"items"]) == 300
