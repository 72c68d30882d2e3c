"""What may be sent as DeleteOptions, and what is said of the rest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import cbor2
import orjson
import pytest

from apiserver.endpoints.delete_body import read_delete_options
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import BadRequest
from apiserver.registry.options import DeleteOptions

SCHEME = 'in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
NO_KIND = "unable to determine group/version/kind: "


async def read(data: bytes, media_type: str = "application/json") -> DeleteOptions:
    async def body() -> bytes:
        return data

    request = SimpleNamespace(read_body=body, header=lambda name: media_type, query={})
    return await read_delete_options(cast(ApiRequest, request))


async def refused(data: bytes, media_type: str = "application/json") -> str:
    with pytest.raises(BadRequest) as error:
        await read(data, media_type)
    return error.value.message


@pytest.mark.parametrize(
    "named", [{}, {"kind": "DeleteOptions"}, {"apiVersion": "apps/v9", "kind": "DeleteOptions"}]
)
async def test_the_version_of_options_does_not_matter(named: dict[str, Any]) -> None:
    sent = {**named, "gracePeriodSeconds": 3}
    assert (await read(orjson.dumps(sent))).grace_period == 3
    assert (await read(cbor2.dumps(sent), "application/cbor")).grace_period == 3


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (
            {"kind": "ConfigMap"},
            f'no kind "ConfigMap" is registered for version "meta.k8s.io/v1" {SCHEME}',
        ),
        (
            {"apiVersion": "v1", "kind": "ConfigMap"},
            f'no kind "ConfigMap" is registered for version "v1" {SCHEME}',
        ),
        (
            {"apiVersion": "v1", "kind": "Table"},
            f'no kind "Table" is registered for version "v1" {SCHEME}',
        ),
        ({"kind": "Table"}, "converting (v1.Table) to (v1.DeleteOptions): unknown conversion"),
        (
            {"apiVersion": "apps/v9", "kind": "Status"},
            "converting (v1.Status) to (v1.DeleteOptions): unknown conversion",
        ),
    ],
)
async def test_objects_of_other_kinds_are_refused(named: dict[str, str], said: str) -> None:
    assert await refused(orjson.dumps(named)) == said
    assert await refused(cbor2.dumps(named), "application/cbor") == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{}", f"{NO_KIND}unexpected EOF"),
        (
            b" ",
            f"{NO_KIND}cbor: cannot unmarshal negative integer into Go value of type v1.TypeMeta",
        ),
    ],
)
async def test_what_is_no_cbor_has_no_kind(data: bytes, said: str) -> None:
    assert await refused(data, "application/cbor") == said
