"""Updates whose object says that it is another one than the stored one."""

from __future__ import annotations

import pytest

from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.registry.preconditions import uid_text
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User


@pytest.mark.parametrize(
    ("group", "resource", "namespace", "key"),
    [
        ("", "configmaps", "ns", "/configmaps/ns/x"),
        ("", "services", "ns", "/services/specs/ns/x"),
        ("", "nodes", "", "/minions/x"),
        ("apps", "deployments", "ns", "/deployments/ns/x"),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "",
            "/apiextensions.k8s.io/customresourcedefinitions/x",
        ),
    ],
)
def test_a_uid_that_does_not_fit_names_the_key_of_the_object(
    group: str, resource: str, namespace: str, key: str
) -> None:
    found = catalog.resources()[GroupResource(group, resource)]
    scope = Scope(Tenant(1, "t"), found, found.versions["v1"], User("ann"), namespace, "x")
    text = (
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: "
    )
    text += "UID in precondition: a, UID in object meta: b"
    assert uid_text(scope, "a", "b", dry_run=False) == text.format(f"/registry{key}")
    assert uid_text(scope, "a", "b", dry_run=True) == text.format(key)
