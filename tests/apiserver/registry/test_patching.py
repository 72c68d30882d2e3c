"""Patches under the update loop: what is looked at first, and what the result may be."""

from __future__ import annotations

from typing import Any, cast

import pytest

from apiserver.codec import negotiate
from apiserver.errors import BadRequest, Invalid, NotFound
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry import patching, patchtypes, scaling
from apiserver.registry.core import Registry
from apiserver.registry.options import WriteOptions
from apiserver.registry.scope import Scope, Tenant
from apiserver.schema import builtin
from apiserver.user import User

SCALE: Object = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": {"name": "x"},
    "spec": {"replicas": 1},
}


@pytest.fixture
def scope() -> Scope:
    found = catalog.resources()[GroupResource("", "configmaps")]
    return Scope(Tenant(1, "t"), found, found.versions["v1"], User("ann"), "ns", "x")


async def merged(scope: Scope, patch: patching.Patch, live: Object | None) -> Object:
    no_registry = cast(Registry, None)
    return await patching.Merge(scope, patch).make(no_registry, scope, scope.asker(0), live)


def patch(media_type: str, body: bytes, **options: Any) -> patching.Patch:
    return patching.Patch(patchtypes.BY_MEDIA_TYPE[media_type], body, "m", WriteOptions(**options))


@pytest.mark.parametrize(
    "media_type", [negotiate.JSON_PATCH, negotiate.MERGE_PATCH, negotiate.STRATEGIC_PATCH]
)
async def test_a_patch_of_a_missing_object_is_not_read(scope: Scope, media_type: str) -> None:
    with pytest.raises(NotFound):
        await merged(scope, patch(media_type, b"no patch at all"), None)


async def test_an_object_that_loses_its_kind_keeps_it(scope: Scope) -> None:
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ns"}}
    body = b'{"kind":null,"data":{"a":"b"}}'
    new = await merged(scope, patch(negotiate.MERGE_PATCH, body), live)
    assert (new["kind"], new["data"]) == ("ConfigMap", {"a": "b"})


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            b'{"apiVersion":[1]}',
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go "
            "struct field .apiVersion of type string",
        ),
        (
            b'{"kind":"None"}',
            'no kind "None" is registered for version "v1" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"apiVersion":"v9"}',
            'no kind "ConfigMap" is registered for version "v9" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"kind":"Secret"}',
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (b'{"apiVersion":"a/b/c"}', "unexpected GroupVersion string: a/b/c"),
        (
            b'{"apiVersion":null,"kind":"None"}',
            'no kind "None" is registered for the internal version of group "" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"',
        ),
    ],
)
async def test_an_object_that_becomes_another_kind_is_refused(
    scope: Scope, body: bytes, why: str
) -> None:
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ns"}}
    with pytest.raises(Invalid) as refused:
        await merged(scope, patch(negotiate.MERGE_PATCH, body), live)
    assert refused.value.message.endswith(f'": {why}')


LIVE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "namespace": "ns"},
    "data": {"a": "b"},
}
UNKNOWN = ['unknown field "data"', 'unknown field "metadata"']


@pytest.mark.parametrize("version", ["null", '""'])
async def test_what_loses_its_version_loses_all_that_has_a_name_in_json(
    scope: Scope, version: str
) -> None:
    body = f'{{"apiVersion":{version}}}'.encode()
    with pytest.raises(BadRequest, match="name must be provided"):
        await merged(scope, patch(negotiate.MERGE_PATCH, body), LIVE)
    assert scope.warnings == UNKNOWN
    strict = patch(negotiate.MERGE_PATCH, body, field_validation="Strict")
    with pytest.raises(Invalid, match="strict decoding error: " + ", ".join(UNKNOWN)):
        await merged(scope, strict, LIVE)


async def test_what_loses_its_version_has_the_metadata_that_stands_outside_of_it(
    scope: Scope,
) -> None:
    body = b'{"apiVersion":null,"name":"x","labels":{"c":"d"}}'
    new = await merged(scope, patch(negotiate.MERGE_PATCH, body), LIVE)
    assert (new["apiVersion"], new["metadata"]["labels"]) == ("v1", {"c": "d"})
    assert "data" not in new
    assert scope.warnings == UNKNOWN


async def test_a_strategic_patch_that_takes_the_version_away_changes_nothing(scope: Scope) -> None:
    body = b'{"apiVersion":null,"data":{"c":"d"}}'
    new = await merged(scope, patch(negotiate.STRATEGIC_PATCH, body), LIVE)
    assert (new["apiVersion"], new["data"]) == ("v1", {"a": "b", "c": "d"})


async def test_unknown_fields_of_a_strategic_patch_come_sorted(scope: Scope) -> None:
    body = b'{"zz":1,"aa":{"z":1},"metadata":{"zz":1,"aa":1}}'
    await merged(scope, patch(negotiate.STRATEGIC_PATCH, body), LIVE)
    names = ("aa", "metadata.aa", "metadata.zz", "zz")
    assert scope.warnings == [f'unknown field "{name}"' for name in names]


def scaled(scope: Scope, body: bytes, **options: Any) -> Object:
    merge = patching.merger(
        scope, patch(negotiate.MERGE_PATCH, body, **options), builtin.schema_for(scaling.SCALE)
    )
    return merge(SCALE, lambda *_: None, scaling.decode_scale)


def test_fields_of_a_scale_are_validated_as_those_of_any_object(scope: Scope) -> None:
    assert scaled(scope, b'{"spec":{"replicas":2,"none":1}}')["spec"] == {"replicas": 2}
    assert scope.warnings == ['unknown field "spec.none"']
    with pytest.raises(Invalid, match=r'strict decoding error: unknown field "spec.none"'):
        scaled(scope, b'{"spec":{"none":1}}', field_validation="Strict")
    with pytest.raises(
        Invalid,
        match=r"cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32",
    ):
        scaled(scope, b'{"spec":{"replicas":"two"}}')
