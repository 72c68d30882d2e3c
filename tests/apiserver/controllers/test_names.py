"""What docs/compatibility.md says of kube-controller-manager's controllers is so."""

from __future__ import annotations

import re
from pathlib import Path

from apiserver.controllers.names import CONTROLLERS
from apiserver.controllers.policystatus import PolicyStatus

ROOT = Path(__file__).parents[3]
OF_THE_API_SERVER = {
    "cluster-authentication-trust-controller",
    "event-ttl-controller",
    "field-index-controller",
    "kube-apiserver-autoregistration-controller",
    "kube-apiserver-identity-lease-controller",
    "kubernetes-service-cidr-controller",
    "kubernetes-service-controller",
    "priority-and-fairness-config-controller",
    "rbac-bootstrap-roles-controller",
    "service-ip-repair-controller",
    "system-namespaces-controller",
}
"""That kube-controller-manager does not have."""
KNOWN_UPSTREAM = 50


def rows() -> list[tuple[list[str], str]]:
    text = (ROOT / "docs/compatibility.md").read_text()
    table = text.split("## Controllers of kube-controller-manager")[1].split("\n## ")[0]
    lines = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`([a-z-]+)`", line[1]), line[2].strip()) for line in lines]


def test_all_controllers_of_kube_controller_manager_are_told_once() -> None:
    named = [name for names, _ in rows() for name in names]
    assert len(named) == len(set(named)) == KNOWN_UPSTREAM


def test_those_that_are_said_to_be_here_are() -> None:
    here = {name for names, answer in rows() for name in names if answer == "yes"}
    assert here == {*CONTROLLERS, PolicyStatus.controller} - OF_THE_API_SERVER
    assert {answer for _, answer in rows()} == {"yes", "no"}


def test_tenants_are_told_what_they_can_turn_off() -> None:
    text = (ROOT / "docs/tenancy.md").read_text()
    assert [name for name in CONTROLLERS if f"`{name}`" not in text] == []
