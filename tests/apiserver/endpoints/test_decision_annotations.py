"""What the audit log is told of a decision: upstream's annotations, and who or what decided."""

from __future__ import annotations

import pytest

from apiserver.audit.replay import annotate
from apiserver.authz.attributes import Decision, Grant

GRANT = Grant({}, {}, "", {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, 2)
TEXT = '2: {APIGroups:[""], Resources:["pods"], Verbs:["get"]}'
OURS, UPSTREAM = "authorization.polyplane.dev/", "authorization.k8s.io/"


@pytest.mark.parametrize(
    ("decision", "notes"),
    [
        (
            Decision(True, "RBAC: x", grant=GRANT, authorizer="rbac"),
            {
                f"{UPSTREAM}decision": "allow",
                f"{UPSTREAM}reason": "RBAC: x",
                f"{OURS}rule": TEXT,
            },
        ),
        (
            Decision(True, authorizer="system:masters"),
            {
                f"{UPSTREAM}decision": "allow",
                f"{UPSTREAM}reason": "",
                f"{OURS}authorizer": "system:masters",
            },
        ),
        (
            Decision(False, "no", True, authorizer="w"),
            {
                f"{UPSTREAM}decision": "forbid",
                f"{UPSTREAM}reason": "no",
                f"{OURS}authorizer": "w",
            },
        ),
        (Decision(False), {f"{UPSTREAM}decision": "forbid", f"{UPSTREAM}reason": ""}),
        (Decision(False, error="EOF"), {f"{UPSTREAM}reason": "internal error"}),
    ],
)
def test_a_decision_is_told_with_what_it_rests_on(
    decision: Decision, notes: dict[str, str]
) -> None:
    annotations = {"a": "b"}
    annotate(annotations, decision)
    assert annotations == {"a": "b", **notes}


def test_nothing_of_an_earlier_decision_stays() -> None:
    annotations: dict[str, str] = {}
    annotate(annotations, Decision(True, "RBAC: x", grant=GRANT, authorizer="rbac"))
    annotate(annotations, Decision(True, authorizer="w"))
    annotate(annotations, Decision(False))
    assert annotations == {f"{UPSTREAM}decision": "forbid", f"{UPSTREAM}reason": ""}
