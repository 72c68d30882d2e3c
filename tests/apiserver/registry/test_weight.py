"""How much work a text is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apiserver.codec import negotiate
from apiserver.endpoints.encodings import BY_MEDIA_TYPE
from apiserver.registry import patchtypes
from apiserver.registry.offload import LARGE
from apiserver.registry.weight import MOST, of_binary, of_json, of_yaml
from apiserver.schema.structural import structural
from apiserver.schema.types import Schema
from tests.support import kindtools

POD = kindtools.resource_of(kindtools.pod())[0].versions["v1"].schema


def test_usual_objects_weigh_their_bytes() -> None:
    containers = [
        {
            "name": f"c{i}",
            "image": "registry.example.com/team/image:1.2.3",
            "imagePullPolicy": "Always",
        }
        for i in range(20)
    ]
    text = orjson.dumps(kindtools.pod(containers=containers))
    assert of_json(text, POD) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"spec":{"containers":[%s]}}' % b",".join([b"{}"] * 5000),
        b'{"metadata":{"finalizers":[%s]}}' % b",".join([b'""'] * 5000),
    ],
)
def test_many_small_values_are_a_large_object(text: bytes) -> None:
    assert len(text) < LARGE <= of_json(text, POD)


@pytest.mark.parametrize(
    "text",
    [
        b"spec:\n  containers:\n" + b"  - {}\n" * 5000,
        b"a: &a [1,1,1]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n",
    ],
)
def test_lines_and_aliases_count_in_yaml(text: bytes) -> None:
    assert len(text) < LARGE <= of_yaml(text, POD)
    assert BY_MEDIA_TYPE[negotiate.YAML].weight(text, POD) >= LARGE
    assert patchtypes.BY_MEDIA_TYPE[negotiate.APPLY_YAML].weight(text, POD) >= LARGE


def test_json_that_is_applied_is_json() -> None:
    text = b'{"data":{"a":"x & y"}}'
    assert of_yaml(text, POD) == of_json(text, POD) < LARGE


@pytest.mark.parametrize(
    "weight",
    [
        of_binary,
        BY_MEDIA_TYPE[negotiate.CBOR].weight,
        BY_MEDIA_TYPE[negotiate.PROTOBUF].weight,
        patchtypes.BY_MEDIA_TYPE[negotiate.APPLY_CBOR].weight,
    ],
)
def test_binary_texts_weigh_more_than_their_bytes(weight: Callable[[bytes, Schema], int]) -> None:
    assert weight(b"\xa0" * 20_000, POD) >= LARGE


def test_defaults_weigh_where_they_may_be_filled_in() -> None:
    default: Any = {"a": "x" * 10_000}
    item = {
        "type": "object",
        "properties": {
            "big": {
                "type": "object",
                "default": default,
                "x-kubernetes-preserve-unknown-fields": True,
            }
        },
    }
    schema = structural(
        {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
    )
    assert of_json(b'{"items":[%s]}' % b",".join([b"{}"] * 10), schema) > 10 * 10_000
    assert of_json(b'{"items":[%s]}' % b",".join([b"{}"] * 10_000), schema) == MOST
