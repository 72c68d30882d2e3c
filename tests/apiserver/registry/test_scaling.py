"""Applying a Scale in front of an object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from apiserver.codec import negotiate
from apiserver.errors import ApplyConflict, BadRequest, Conflict, Invalid, PlainError
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry import scaling
from apiserver.registry.core import Registry
from apiserver.registry.options import WriteOptions
from apiserver.registry.patching import Patch
from apiserver.registry.patchtypes import BY_MEDIA_TYPE
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User
from tests.support.definitions import definition, resource_of
from tests.support.kindtools import typed, workload

TWICE = b'{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":1,"replicas":1}}'
DOUBLED = 'line 1: key "replicas" already set in map'


@pytest.fixture
def scope() -> Scope:
    found = catalog.resources()[GroupResource("apps", "deployments")]
    return Scope(Tenant(1, "t"), found, found.versions["v1"], User("ann"), "ns", "x", "scale")


@pytest.fixture
def live() -> Object:
    made = typed(workload("Deployment"))
    made["metadata"] |= {"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": "7"}
    made["spec"]["replicas"] = 1
    fields = {"f:spec": {"f:replicas": {}}}
    entry = {
        "manager": "one",
        "operation": "Apply",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**made, "metadata": {**made["metadata"], "managedFields": [entry]}}


def applied(
    scope: Scope, live: Object, body: bytes, manager: str = "two", **options: Any
) -> Object:
    return scaling.applied(
        scope,
        live,
        manager,
        Patch(BY_MEDIA_TYPE[negotiate.APPLY_YAML], body, manager, WriteOptions(**options)),
    )


def scale(replicas: int, **metadata: str) -> bytes:
    names = "".join(f"\n  {name}: {value}" for name, value in metadata.items()) or " {}"
    return (
        f"kind: Scale\napiVersion: autoscaling/v1\nmetadata:{names}\nspec: {{replicas: {replicas}}}"
    ).encode()


def test_the_manager_of_the_object_is_in_the_way(scope: Scope, live: Object) -> None:
    with pytest.raises(ApplyConflict, match=r'conflict with "one": .spec.replicas'):
        applied(scope, live, scale(2))
    forced = applied(scope, live, scale(2), force=True)
    assert forced["spec"]["replicas"] == 2
    assert [(e["manager"], e.get("subresource")) for e in forced["metadata"]["managedFields"]] == [
        ("two", "scale")
    ]


def test_numbers_of_an_applied_scale_are_converted_as_those_of_any_applied_object(
    scope: Scope, live: Object
) -> None:
    text = "unable to convert unstructured object to autoscaling/v1, Kind=Scale: cannot convert"
    with pytest.raises(PlainError, match=f"to proper version: {text} float64 to int32"):
        applied(scope, live, scale(0).replace(b": 0", b": 1.5"), force=True)
    with pytest.raises(Invalid, match="Invalid value: -2147483648: must be greater than or equal"):
        applied(scope, live, scale(2**31), force=True)


def test_equal_replicas_are_shared(scope: Scope, live: Object) -> None:
    found = applied(scope, live, scale(1))
    assert [e["manager"] for e in found["metadata"]["managedFields"]] == ["one", "two"]


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (
            {"name": "other"},
            r"the name of the object \(other\) does not match the name on the URL \(x\)",
        ),
        (
            {"name": "x", "namespace": "other"},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_a_scale_of_another_object_is_refused(
    scope: Scope, live: Object, metadata: dict[str, str], text: str
) -> None:
    with pytest.raises(BadRequest, match=text):
        applied(scope, live, scale(1, **metadata))


async def patched(scope: Scope, live: Object, uid: str) -> Object:
    def other(old: Object) -> Object:
        return {**old, "metadata": {**old["metadata"], "uid": uid}}

    change = scaling.Scaled(other, uid_is_precondition=False)
    asker = scope.asker(0)
    return await change.make(cast(Registry, None), scope, asker, live)


async def test_a_patch_of_another_objects_scale_is_a_conflict(scope: Scope, live: Object) -> None:
    with pytest.raises(Conflict) as caught:
        await patched(scope, live, "other")
    assert caught.value.message == (
        'Operation cannot be fulfilled on deployments/scale.apps "x": Precondition failed: UID in '
        "precondition: other, UID in object meta: u"
    )
    assert (await patched(scope, live, "u"))["metadata"]["uid"] == "u"


async def test_of_custom_resources_it_is_the_one_that_is_there(scope: Scope, live: Object) -> None:
    custom = resource_of(definition())
    scope = replace(scope, resource=custom, served=custom.versions["v1"])
    assert (await patched(scope, live, "other"))["metadata"]["uid"] == "u"


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_scale_that_nobody_manages_of_a_custom_resource_takes_no_apply(
    scope: Scope, live: Object, replicas: int
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        },
    }
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    custom = resource_of(definition(schema, subresources={"scale": paths}))
    scope = replace(scope, resource=custom, served=custom.versions["v1"])
    metadata = {k: v for k, v in live["metadata"].items() if k != "managedFields"}
    foo = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata}
    with pytest.raises(PlainError) as refused:
        applied(scope, {**foo, "spec": {"replicas": 1}}, scale(replicas), force=True)
    assert refused.value.message == (
        "failed to create manager for existing fields: failed to convert live object (/; "
        "autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid "
        "group/version: autoscaling/v1"
    )


def test_doubled_keys_are_reported_as_the_client_asks(scope: Scope, live: Object) -> None:
    with pytest.raises(BadRequest, match=f"error strict decoding YAML: (?s:.*){DOUBLED}"):
        applied(scope, live, TWICE, field_validation="Strict")
    assert scope.warnings == []
    assert applied(scope, live, TWICE, field_validation="Ignore")["spec"]["replicas"] == 1
    assert scope.warnings == []
    assert applied(scope, live, TWICE)["spec"]["replicas"] == 1
    assert scope.warnings == [DOUBLED]


def test_conflicts_come_before_doubled_keys(scope: Scope, live: Object) -> None:
    live["spec"]["replicas"] = 5
    with pytest.raises(ApplyConflict):
        applied(scope, live, TWICE, field_validation="Strict")
