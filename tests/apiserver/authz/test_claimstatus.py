"""Who may change which part of a ResourceClaim's status."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.claimstatus import node_of, status_errors
from apiserver.user import NODE_NAME, User

DRIVER = "system:serviceaccount:kube-system:driver"
ON_N1 = User(DRIVER, extra={NODE_NAME: ("n1",)})
ANYBODY = User("somebody")
BIND = "update binding * *"


def here(driver: str = "a", verb: str = "update") -> str:
    return f"associated-node:{verb} driver ns {driver}"


def anywhere(driver: str = "a", verb: str = "update") -> str:
    return f"arbitrary-node:{verb} driver ns {driver}"


def allocated(*nodes: str, key: str = "metadata.name", operator: str = "In", **more: Any) -> Any:
    field = {"key": key, "operator": operator, "values": list(nodes)}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field], **more}]}}


def device(driver: str = "a", pool: str = "p", name: str = "d", **more: Any) -> Any:
    return {"driver": driver, "pool": pool, "device": name, **more}


def status(*devices: Any, allocation: Any = None, reserved: str = "") -> Any:
    made: dict[str, Any] = {"devices": list(devices)} if devices else {}
    if allocation is not None:
        made["allocation"] = allocation
    if reserved:
        made["reservedFor"] = [{"resource": "pods", "name": reserved, "uid": "u"}]
    return made


N1, N2 = allocated("n1"), allocated("n2")
CONDITION = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("old", "new", "user", "rights", "asked", "refused"),
    [
        # nothing that is guarded changes
        (status(), status(), ANYBODY, [], [], []),
        (status(device(), allocation=N1), status(device(), allocation=N1), ANYBODY, [], [], []),
        (status(), {"devices": [], "reservedFor": []}, ANYBODY, [], [], []),
        # binding
        (status(), status(allocation=N1), ANYBODY, [BIND], [BIND], []),
        (status(), status(allocation=N1), ANYBODY, [], [BIND], ["status"]),
        (status(allocation=N1), status(), ANYBODY, [], [BIND], ["status"]),
        (status(), status(reserved="p"), ANYBODY, [], [BIND], ["status"]),
        (status(reserved="p"), status(reserved="q"), ANYBODY, [BIND], [BIND], []),
        (status(), status(allocation=N1, reserved="p"), ANYBODY, [], [BIND], ["status"]),
        # devices come, go, change
        (status(), status(device()), ANYBODY, [anywhere()], [anywhere()], []),
        (status(), status(device()), ANYBODY, [], [anywhere()], ["status.devices"]),
        (status(device()), status(), ANYBODY, [], [anywhere()], ["status.devices"]),
        (
            status(device()),
            status(device(**CONDITION)),
            ANYBODY,
            [],
            [anywhere()],
            ["status.devices"],
        ),
        (status(device()), status(device(name="e")), ANYBODY, [], [anywhere()], ["status.devices"]),
        (
            status(device()),
            status(device(shareID="s")),
            ANYBODY,
            [],
            [anywhere()],
            ["status.devices"],
        ),
        (status(device("a"), device("b")), status(device("b"), device("a")), ANYBODY, [], [], []),
        # each driver by itself
        (
            status(),
            status(device("b"), device("a")),
            ANYBODY,
            [anywhere("a")],
            [anywhere("a"), anywhere("b")],
            ["status.devices"],
        ),
        (
            status(device("b")),
            status(device("b"), device("a")),
            ANYBODY,
            [],
            [anywhere()],
            ["status.devices"],
        ),
        # on the node of the claim
        (status(allocation=N1), status(device(), allocation=N1), ON_N1, [here()], [here()], []),
        (
            status(allocation=N1),
            status(device(), allocation=N1),
            ON_N1,
            [anywhere()],
            [here(), anywhere()],
            [],
        ),
        (
            status(allocation=N1),
            status(device(), allocation=N1),
            ON_N1,
            [],
            [here(), anywhere()],
            ["status.devices"],
        ),
        # on another one, or on none
        (
            status(allocation=N2),
            status(device(), allocation=N2),
            ON_N1,
            [here()],
            [anywhere()],
            ["status.devices"],
        ),
        (status(), status(device()), ON_N1, [here()], [anywhere()], ["status.devices"]),
        (
            status(allocation=N1),
            status(device(), allocation=N1),
            User("alice", extra={NODE_NAME: ("n1",)}),
            [here()],
            [anywhere()],
            ["status.devices"],
        ),
        (
            status(allocation=N1),
            status(device(), allocation=N1),
            User(DRIVER, extra={NODE_NAME: ("n1", "n2")}),
            [here()],
            [anywhere()],
            ["status.devices"],
        ),
        # both
        (
            status(),
            status(device(), allocation=N1),
            ANYBODY,
            [],
            [BIND, anywhere()],
            ["status", "status.devices"],
        ),
    ],
)
async def test_what_is_asked(
    old: Any, new: Any, user: User, rights: list[str], asked: list[str], refused: list[str]
) -> None:
    seen: list[str] = []

    async def authorize(question: Attributes) -> Decision:
        where, name = question.namespace or "*", question.name or "*"
        seen.append(f"{question.verb} {question.subresource} {where} {name}")
        return Decision(seen[-1] in rights)

    request = Attributes(
        user, "update", "resource.k8s.io", "v1", "resourceclaims", "status", "ns", "claim"
    )
    errors = [error async for error in status_errors(new, old, request, authorize)]
    assert seen == asked and [error.path for error in errors] == refused


async def test_the_verb_is_the_requests_own_and_refusals_say_what_is_missing() -> None:
    async def never(question: Attributes) -> Decision:
        return Decision(False)

    request = Attributes(
        ANYBODY, "patch", "resource.k8s.io", "v1", "resourceclaims", "status", "ns", "claim"
    )
    new = status(device(), reserved="p")
    errors = [str(e) async for e in status_errors(new, {}, request, never)]
    assert errors == [
        "status: Forbidden: changing status.allocation or status.reservedFor requires "
        'resource="resourceclaims/binding", verb="patch" permission: '
        'resourceclaims.resource.k8s.io is forbidden: User "somebody" cannot patch resource '
        '"resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope',
        "status.devices: Forbidden: changing status.devices requires "
        'resource="resourceclaims/driver", verb="[arbitrary-node:patch]" permission: '
        'resourceclaims.resource.k8s.io "a" is forbidden: User "somebody" cannot '
        'arbitrary-node:patch resource "resourceclaims/driver" in API group "resource.k8s.io" in '
        'the namespace "ns"',
    ]


@pytest.mark.parametrize(
    ("allocation", "node"),
    [
        (None, ""),
        ({}, ""),
        (N1, "n1"),
        (allocated("n1", "n2"), ""),
        (allocated(), ""),
        (allocated("n1", key="metadata.namespace"), ""),
        (allocated("n1", operator="NotIn"), ""),
        (allocated("n1", matchExpressions=[{"key": "a", "operator": "Exists"}]), ""),
        ({"nodeSelector": {"nodeSelectorTerms": [{}, {}]}}, ""),
        ({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": []}]}}, ""),
    ],
)
def test_the_node_of_an_allocation(allocation: Any, node: str) -> None:
    assert node_of(allocation) == node
