"""What the update loop asks of the resourceVersion that an object was sent with (k8s.io/apiserver ``storage``, Versioner)."""

from __future__ import annotations

import pytest

from admission.attributes import Object
from apiserver.errors import ApiError, Conflict, Invalid
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.registry import update
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User

STORED: Object = {"metadata": {"name": "x", "resourceVersion": "7"}}


def scope_of(group: str, resource: str) -> Scope:
    found = catalog.resources()[GroupResource(group, resource)]
    return Scope(Tenant(1, "t"), found, found.versions["v1"], User("ann"), "ns", "x")


def checked(version: str | None, scope: Scope | None = None) -> str:
    new: Object = {"metadata": {"name": "x"} if version is None else {"name": "x", "resourceVersion": version}}
    update._check_resource_version(scope or scope_of("", "configmaps"), new, STORED)
    found: str = new["metadata"]["resourceVersion"]
    return found


@pytest.mark.parametrize("version", [None, "", "0", "00"])
def test_no_version_takes_the_stored_one(version: str | None) -> None:
    assert checked(version) == "7"
    with pytest.raises(Invalid, match=r"metadata.resourceVersion: Invalid value: 0: must be specified for an update"):
        checked(version, scope_of("policy", "poddisruptionbudgets"))


@pytest.mark.parametrize("version", ["7", "007"])
def test_versions_are_numbers(version: str) -> None:
    assert checked(version) == version


def test_another_version_is_a_conflict() -> None:
    with pytest.raises(Conflict):
        checked("8")


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("abc", 'strconv.ParseUint: parsing "abc": invalid syntax'),
        ("-7", 'strconv.ParseUint: parsing "-7": invalid syntax'),
        ("٧", 'strconv.ParseUint: parsing "٧": invalid syntax'),
        ("18446744073709551616", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
    ],
)
def test_what_is_no_number_is_an_error_of_the_server(version: str, text: str) -> None:
    with pytest.raises(ApiError) as refusal:
        checked(version)
    assert (refusal.value.code, refusal.value.message) == (500, text)
