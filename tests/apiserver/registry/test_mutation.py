"""What surrounds mutating admission: broken managedFields come back, doubled owner references
go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from admission.attributes import Attributes
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.managers import make_manager
from apiserver.registry.mutation import drop_doubled_owners, mutate
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User

CONFIG_MAPS = catalog.resources()[GroupResource("", "configmaps")]
ENTRY = {
    "manager": "a",
    "operation": "Update",
    "apiVersion": "v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {}},
}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}


@pytest.fixture
def scope() -> Scope:
    return Scope(Tenant(1, "t"), CONFIG_MAPS, CONFIG_MAPS.versions["v1"], User("ann"), "ns", "c")


def config_map(**metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}}


def admitted(scope: Scope, obj: Object, change: Callable[[Object], None]) -> Object:
    async def admit(attributes: Attributes, lookup: Any) -> None:
        change(cast(Object, attributes.object))

    registry = cast(
        Registry, SimpleNamespace(chain=SimpleNamespace(admit=admit), lookup=lambda *_: None)
    )
    return asyncio.run(
        mutate(
            registry, scope, scope.asker(0), cast(Attributes, SimpleNamespace(object=obj, old=None))
        )
    )


def test_admission_may_change_managed_fields(scope: Scope) -> None:
    other = {**ENTRY, "manager": "webhook"}
    found = admitted(
        scope,
        config_map(managedFields=[ENTRY]),
        lambda o: o["metadata"].update(managedFields=[other]),
    )
    assert found["metadata"]["managedFields"] == [other]
    assert not scope.warnings


@pytest.mark.parametrize(
    "broken",
    [
        {**ENTRY, "operation": "Delete"},
        {**ENTRY, "fieldsType": "FieldsV2"},
        {**ENTRY, "fieldsV1": {"x": 1}},
    ],
)
def test_broken_managed_fields_are_put_back_with_a_warning(scope: Scope, broken: Object) -> None:
    found = admitted(
        scope,
        config_map(managedFields=[ENTRY]),
        lambda o: o["metadata"].update(managedFields=[broken], labels={"a": "b"}),
    )
    assert found["metadata"]["managedFields"] == [ENTRY]
    assert found["metadata"]["labels"] == {"a": "b"}
    assert scope.warnings[0].startswith(
        ".metadata.managedFields was in an invalid state after admission; "
    )


def test_owners_doubled_by_admission_go(scope: Scope) -> None:
    found = admitted(
        scope,
        config_map(ownerReferences=[OWNER]),
        lambda o: o["metadata"]["ownerReferences"].append(dict(OWNER)),
    )
    assert found["metadata"]["ownerReferences"] == [OWNER]
    assert "after mutating admission happens" in scope.warnings[0]
    assert scope.warnings[0].endswith("duplicate UID(s) observed: 1")


def test_owners_that_differ_in_anything_stay(scope: Scope) -> None:
    obj = config_map(ownerReferences=[OWNER, {**OWNER, "controller": True}, {**OWNER, "uid": "2"}])
    asyncio.run(drop_doubled_owners(scope, scope.asker(0), obj))
    assert len(obj["metadata"]["ownerReferences"]) == 3
    assert not scope.warnings
    obj["metadata"]["ownerReferences"] += [OWNER, {**OWNER, "uid": "2"}]
    asyncio.run(drop_doubled_owners(scope, scope.asker(0), obj))
    assert len(obj["metadata"]["ownerReferences"]) == 3
    assert scope.warnings[0].endswith("duplicate UID(s) observed: 1, 2")


def test_an_empty_list_of_managed_fields_resets_them(scope: Scope) -> None:
    """Decoding drops empty lists with omitempty, but not this one: it says something."""
    manager = make_manager(CONFIG_MAPS)
    live = {
        **config_map(uid="u", managedFields=[{**ENTRY, "time": "2026-01-01T00:00:00Z"}]),
        "data": {"a": "1"},
    }
    for sent, left in (({"managedFields": []}, False), ({"managedFields": None}, True), ({}, True)):
        new, _ = CONFIG_MAPS.decode(
            CONFIG_MAPS.versions["v1"],
            {**config_map(uid="u", **sent), "data": {"a": "1"}},
        )
        new = manager.update(live, new, "b", api_version="v1", now=scope.now)
        assert ("managedFields" in new["metadata"]) is left
