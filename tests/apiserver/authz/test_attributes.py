from __future__ import annotations

import pytest

from apiserver.authz.attributes import Attributes, forbidden
from apiserver.user import User

ALICE = User("alice")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            Attributes(ALICE, "list", resource="pods", namespace="ns"),
            'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the '
            'namespace "ns"',
        ),
        (
            Attributes(ALICE, "get", resource="pods", subresource="log", namespace="ns", name="p"),
            'pods "p" is forbidden: User "alice" cannot get resource "pods/log" in API group "" in '
            'the namespace "ns"',
        ),
        (
            Attributes(ALICE, "deletecollection", group="apps", resource="deployments"),
            'deployments.apps is forbidden: User "alice" cannot deletecollection resource '
            '"deployments" in API group "apps" '
            "at the cluster scope",
        ),
        (
            Attributes(ALICE, "post", path="/custom", is_resource=False),
            'forbidden: User "alice" cannot post path "/custom"',
        ),
        (
            Attributes(User("<b>&"), "get", path="/x", is_resource=False),
            'forbidden: User "&lt;b&gt;&amp;" cannot get path "/x"',
        ),
    ],
)
def test_refusals_read_as_recorded(attributes: Attributes, message: str) -> None:
    assert forbidden(attributes).message == message


def test_the_authorizers_reason_follows() -> None:
    error = forbidden(Attributes(ALICE, "get", resource="nodes", name="n"), "RBAC: oops")
    assert error.message.endswith("at the cluster scope: RBAC: oops")
    assert error.to_status()["details"] == {"name": "n", "kind": "nodes"}
