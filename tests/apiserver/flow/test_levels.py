"""Seats of priority levels by their shares, borrowing, and what changes with the objects."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from importlib.resources import files

import pytest

from apiserver.flow.allocation import Claim, allocate
from apiserver.flow.levels import Levels
from apiserver.flow.queueset import Rejected, Ticket, Work
from apiserver.meta.objects import Object
from apiserver.request import parse_request
from apiserver.user import User

GET = parse_request("GET", "/api/v1/namespaces/a/configmaps/c")
MASTER = User("root", groups=("system:masters", "system:authenticated"))
ALICE = User("alice", groups=("system:authenticated",))
ROBOT = User(
    "system:serviceaccount:kube-system:r", groups=("system:serviceaccounts", "system:authenticated")
)
MANAGER = User("system:kube-controller-manager", groups=("system:authenticated",))
NODE = User("system:node:n", groups=("system:nodes", "system:authenticated"))
NOBODY = User("system:anonymous", groups=("system:unauthenticated",))


def bootstrap(resource: str) -> list[Object]:
    data = json.loads((files("apiserver.kinds") / "data" / "bootstrap.json").read_bytes())
    return list(data[resource])


class World:
    def __init__(self, seats: int = 600) -> None:
        self.now = 0.0
        self.levels, self.schemas = (
            bootstrap("prioritylevelconfigurations"),
            bootstrap("flowschemas"),
        )
        both = {
            name: (_named(self.levels, name), _named(self.schemas, name))
            for name in ("exempt", "catch-all")
        }
        self.seats = seats
        self.control = Levels(both, lambda: self.now, lambda *_: None)
        self.digest()

    def digest(self) -> None:
        self.control.digest(self.levels, self.schemas, self.seats)

    def use(self, user: User, requests: int) -> list[Ticket]:
        flow = self.control.classify(GET, user)
        tickets = [Ticket(flow, Work()) for _ in range(requests)]
        for one in tickets:
            flow.level.queues.ask(one)
        return tickets

    def period(self) -> None:
        self.now += 10
        self.control.adjust()


def _named(objects: list[Object], name: str) -> Object:
    return copy.deepcopy(next(o for o in objects if o["metadata"]["name"] == name))


def test_work_beside_the_loop_waits_by_level_and_flow() -> None:
    """Also in levels that refuse instead of queuing, which tell no flows apart for seats."""
    control = World().control
    alice, bob = control.classify(GET, ALICE), control.classify(GET, replace(ALICE, name="bob"))
    assert alice.place[:3] == bob.place[:3] == ("global-default", 20, False)
    assert alice.place.flow != bob.place.flow
    update = parse_request("PUT", "/api/v1/namespaces/a/configmaps/c")
    assert control.classify(update, ALICE).place == alice.place, "the same flow"
    nobody = [control.classify(GET, User(name)) for name in ("x", "y")]
    assert {flow.place.level for flow in nobody} == {"catch-all"}
    assert nobody[0].distinguisher == nobody[1].distinguisher == ""
    assert nobody[0].place != nobody[1].place
    assert control.classify(GET, MASTER).place[:3] == ("exempt", 0, True)


def test_shares_of_kube_apiservers_six_hundred_seats() -> None:
    """The limits that a kube-apiserver with its default flags shows in its metrics."""
    found = {n: (x.nominal, x.least) for n, x in World().control.levels.items()}
    assert found == {
        "catch-all": (13, 13),
        "exempt": (0, 0),
        "global-default": (49, 24),
        "leader-election": (25, 25),
        "node-high": (98, 73),
        "system": (74, 50),
        "workload-high": (98, 49),
        "workload-low": (245, 24),
    }


@pytest.mark.parametrize(
    ("user", "path", "schema", "level"),
    [
        (MASTER, "/api/v1/pods", "exempt", "exempt"),
        (ALICE, "/api/v1/pods", "global-default", "global-default"),
        (ALICE, "/healthz", "probes", "exempt"),
        (NOBODY, "/readyz", "probes", "exempt"),
        (NOBODY, "/version", "global-default", "global-default"),
        (ROBOT, "/api/v1/pods", "kube-system-service-accounts", "workload-high"),
        (MANAGER, "/api/v1/pods", "kube-controller-manager", "workload-high"),
        (
            MANAGER,
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l",
            "system-leader-election",
            "leader-election",
        ),
        (NODE, "/api/v1/nodes/n", "system-node-high", "node-high"),
        (NODE, "/api/v1/pods", "system-nodes", "system"),
        (User("odd"), "/api/v1/pods", "catch-all", "catch-all"),
    ],
)
def test_bootstrap_schemas(user: User, path: str, schema: str, level: str) -> None:
    flow = World().control.classify(parse_request("GET", path), user)
    assert (flow.schema.name, flow.level.name) == (schema, level)


def test_precedence_and_names_order_schemas() -> None:
    world = World()
    for name, precedence in (("b", 50), ("a", 50), ("c", 49)):
        obj = _named(world.schemas, "global-default")
        obj["metadata"]["name"] = name
        obj["spec"]["matchingPrecedence"] = precedence
        world.schemas.append(obj)
    world.digest()
    assert world.control.classify(GET, ALICE).schema.name == "c"
    world.schemas = [s for s in world.schemas if s["metadata"]["name"] != "c"]
    world.digest()
    assert world.control.classify(GET, ALICE).schema.name == "a"


def test_a_schema_without_its_level_is_passed_over() -> None:
    world = World()
    _level(world.schemas, "global-default")["priorityLevelConfiguration"]["name"] = "missing"
    world.digest()
    assert world.control.classify(GET, ALICE).schema.name == "catch-all"


def _level(objects: list[Object], name: str) -> Object:
    spec: Object = next(o["spec"] for o in objects if o["metadata"]["name"] == name)
    return spec


def test_the_mandatory_ones_are_there_without_objects() -> None:
    world = World()
    world.levels = world.schemas = []
    world.digest()
    assert world.control.classify(GET, MASTER).level.exempt
    flow = world.control.classify(GET, ALICE)
    assert (flow.level.name, flow.level.nominal) == ("catch-all", 600)


def test_a_level_that_is_gone_serves_what_it_has() -> None:
    world = World()
    (held,) = world.use(ALICE, 1)
    world.levels = [o for o in world.levels if o["metadata"]["name"] != "global-default"]
    world.digest()
    level = world.control.levels["global-default"]
    assert level.quiescing
    assert world.control.classify(GET, ALICE).level.name == "catch-all"
    level.queues.finish(held)
    world.digest()
    assert "global-default" not in world.control.levels


def test_what_nobody_wants_is_lent_and_comes_back() -> None:
    world = World()
    low = world.control.levels["global-default"]
    held = world.use(ALICE, 300)
    before = low.current
    world.period()
    assert low.current > max(before, low.nominal), "it borrows"
    assert low.queues.limit == low.current
    lender = world.control.levels["workload-high"]
    assert lender.current < lender.nominal
    world.use(ROBOT, 98)
    world.period()
    assert lender.current >= lender.nominal, "its own seats are its own again"
    for one in held:
        if not one.waiting:
            low.queues.finish(one)


def test_borrowing_has_a_limit() -> None:
    world = World()
    spec = next(o for o in world.levels if o["metadata"]["name"] == "global-default")["spec"]
    spec["limited"]["borrowingLimitPercent"] = 10
    world.digest()
    world.use(ALICE, 250)
    world.period()
    assert world.control.levels["global-default"].current == 49 + 5


def test_nobody_gets_less_than_what_is_not_lendable() -> None:
    world = World()
    world.use(ALICE, 300)
    for _ in range(50):
        world.period()
    levels = world.control.levels.values()
    assert any(x.least for x in levels) and all(x.current >= x.least for x in levels)


def test_a_level_that_rejects() -> None:
    world = World(20)
    odd = User("odd")
    limit = world.control.levels["catch-all"].current
    world.use(odd, limit)
    with pytest.raises(Rejected, match="concurrency-limit"):
        world.use(odd, 1)


@pytest.mark.parametrize(
    ("seats", "claims", "given"),
    [
        (10, [Claim(1, 0, 10), Claim(1, 0, 10)], [5, 5]),
        (10, [Claim(3, 0, 10), Claim(1, 0, 10)], [7.5, 2.5]),
        (10, [Claim(3, 0, 4), Claim(1, 0, 10)], [4, 6]),
        (10, [Claim(9, 0, 10), Claim(4, 4, 10)], [6, 4]),
        (10, [Claim(5, 2, 10), Claim(5, 5, 20), Claim(0, 0, 1)], [5, 5, 0]),
        (3, [Claim(5, 2, 10), Claim(5, 2, 10)], [2, 2]),
        (30, [Claim(5, 2, 10), Claim(5, 2, 10)], [10, 10]),
    ],
)
def test_allocation(seats: int, claims: list[Claim], given: list[float]) -> None:
    assert allocate(seats, claims)[0] == pytest.approx(given, abs=0.01)
